// Call-backs of a user that have nobody to tell: what they throw is a line in the log.

#ifndef VERBENA_TRANSPORT_RUN_LOGGING_H_
#define VERBENA_TRANSPORT_RUN_LOGGING_H_

#include <utility>

#include "absl/strings/string_view.h"
#include "base/run_catching.h"
#include "transport/log.h"

namespace verbena {

// Runs `work` to its end or to what it throws, which is a warning then: "<who> threw: …". Thread: any.
template <typename Work>
void RunLogging(absl::string_view who, Work&& work) {
  try {
    std::forward<Work>(work)();
  } catch (...) {
    Log(Severity::kWarning, StatusOfThrown(who).message());
  }
}

}  // namespace verbena

#endif  // VERBENA_TRANSPORT_RUN_LOGGING_H_
