// One HTTP POST, by libcurl, that its task's Stop ends. No proxies, no redirects, http only.

#ifndef VERBENA_RPC_NAMES_HTTP_POST_H_
#define VERBENA_RPC_NAMES_HTTP_POST_H_

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "rpc/names/background_task.h"

namespace verbena::rpc {

struct HttpPost {
  std::string url;
  std::string body;         // JSON.
  std::string header = {};  // One more, as "Name: value"; empty: none.
  absl::Duration connect_timeout = absl::Seconds(5);
  absl::Duration timeout = absl::InfiniteDuration();  // Of the whole; without one, TCP's keepalive finds out
                                                      // within half a minute that the other host is gone.
  BackgroundTask* stopped_by = nullptr;               // Null: nothing ends it early.
};

// Blocks until the answer is complete, and returns its HTTP status. `on_bytes` has the answer's body, piece by piece;
// an error that it returns ends the request and is returned. Unavailable or DeadlineExceeded, with the url, if there is
// no whole answer; FailedPrecondition or ResourceExhausted, with the url too, if there is no libcurl (libcurl.h);
// Cancelled if the task is stopping. Thread: the task's, if there is one.
absl::StatusOr<long> Perform(const HttpPost& post, absl::FunctionRef<absl::Status(absl::string_view)> on_bytes);

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_NAMES_HTTP_POST_H_
