// What a transport that is at its end must not hold any more.

#ifndef VERBENA_TESTS_INTEGRATION_HELD_H_
#define VERBENA_TESTS_INTEGRATION_HELD_H_

#include <string>

#include "absl/strings/str_cat.h"
#include "transport/endpoint.h"

namespace verbena {

// What the transport of this process holds now for connections and messages, in words; empty if nothing.
inline std::string DescribeHeld() {
  const transport::TransportCounters held = transport::ReadTransportCounters();
  if (held.connections + held.credits_granted + held.landing_bytes + held.exported_bytes + held.sends_queued == 0) {
    return "";
  }
  return absl::StrCat("connections ", held.connections, ", credits ", held.credits_granted, ", landing bytes ",
                      held.landing_bytes, ", exported bytes ", held.exported_bytes, ", queued sends ",
                      held.sends_queued);
}

}  // namespace verbena

#endif  // VERBENA_TESTS_INTEGRATION_HELD_H_
