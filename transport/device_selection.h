// Which device serves an address: the rules of "auto", "soft" and device names.

#ifndef VERBENA_TRANSPORT_DEVICE_SELECTION_H_
#define VERBENA_TRANSPORT_DEVICE_SELECTION_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "transport/address.h"
#include "transport/verbs/verbs_api.h"

namespace verbena::transport {

struct DeviceCandidate {
  const verbs::VerbsApi* api;
  Scheme scheme;            // kRdma or kSoft: what addresses on it are called.
  std::string device_name;  // The only device that will do; empty: any.
};

// The candidates in order of preference: a client tries them in turn, a server listens on all. `device` is
// TransportOptions::device; empty means $VERBENA_DEVICE, and that unset means "auto". Errors, in words: a device that
// is not there (naming those that are), or one that contradicts the address's scheme.
absl::StatusOr<std::vector<DeviceCandidate>> SelectDevices(const Address& address, absl::string_view device);

}  // namespace verbena::transport

#endif  // VERBENA_TRANSPORT_DEVICE_SELECTION_H_
