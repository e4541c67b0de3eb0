// Echo calls of the probe service in flight, and what became of each.

#ifndef VERBENA_TESTS_INTEGRATION_ECHO_CALLS_H_
#define VERBENA_TESTS_INTEGRATION_ECHO_CALLS_H_

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/cord.h"
#include "absl/time/time.h"
#include "rpc/channel.h"
#include "tests/integration/probe.verbena.h"
#include "tests/integration/probe_call.h"

namespace verbena::probe {

// Fails the test if there is none.
std::shared_ptr<Channel> OpenChannel(const std::string& address, const ChannelOptions& options);

// One echo that blocks.
absl::Status EchoOnce(Probe::Stub& stub, absl::Duration timeout);

// Calls that end, or not, while the test goes on. Must outlive them. Thread: one, but completions come on the
// channel's.
class EchoCalls {
 public:
  void Start(Probe::Stub& stub, absl::Cord attachment = {});
  size_t started() const { return calls_.size(); }

  // Until so many of them have completed. False if `patience` ran out.
  bool WaitFor(size_t count, absl::Duration patience);
  bool WaitForAll(absl::Duration patience) { return WaitFor(started(), patience); }

  // Every call completed once, with OK and its attachment back, or with UNAVAILABLE and a certainty. Returns how many
  // failed.
  int ExpectOkOrUnavailable();

 private:
  struct Call : ProbeCall {
    absl::Cord attachment;
  };

  std::deque<Call> calls_;  // What a completion writes is guarded by mu_.
  std::mutex mu_;
  std::condition_variable changed_;
  size_t completed_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace verbena::probe

#endif  // VERBENA_TESTS_INTEGRATION_ECHO_CALLS_H_
