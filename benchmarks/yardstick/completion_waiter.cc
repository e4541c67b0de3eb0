#include "benchmarks/yardstick/completion_waiter.h"

#include <fcntl.h>

#include <cerrno>
#include <chrono>

#include "transport/verbs/verbs_error.h"

namespace verbena::benchmarks {
namespace {

// How long adaptive waiting polls before it sleeps: as long as an event loop does.
std::chrono::nanoseconds PollDuration() {
  return absl::ToChronoNanoseconds(transport::EventLoopOptions().poll_duration);
}

}  // namespace

absl::Status CompletionWaiter::Prepare() {
  if (fcntl(channel_.fd(), F_SETFL, fcntl(channel_.fd(), F_GETFL) & ~O_NONBLOCK) == 0) return absl::OkStatus();
  return absl::ErrnoToStatus(errno, "cannot make the completion channel blocking");
}

absl::Status CompletionWaiter::Fill() {
  absl::Status status = Poll();
  if (policy_ == transport::WaitPolicy::kAdaptive) {
    const auto end = std::chrono::steady_clock::now() + PollDuration();
    while (status.ok() && filled_ == 0 && std::chrono::steady_clock::now() < end) status = Poll();
  }
  if (policy_ == transport::WaitPolicy::kBusy || !status.ok() || filled_ > 0) return status;

  // Arm, look once more, and only then sleep; what woke us is polled by the next call.
  status = queue_.RequestNotify(/*solicited_only=*/false);
  if (status.ok()) status = Poll();
  if (!status.ok() || filled_ > 0) return status;
  return channel_.NextEvent().status();
}

absl::Status CompletionWaiter::Poll() {
  const int count = queue_.Poll(absl::MakeSpan(completions_));
  if (count < 0) return queue_.PollError(count);
  next_ = 0;
  filled_ = count;
  return absl::OkStatus();
}

absl::Status CompletionWaiter::Failure(const ibv_wc& completion) {
  return verbs::CompletionError(completion, "raw work request");
}

}  // namespace verbena::benchmarks
