#include "benchmarks/rpc_bench/completion_waiter.h"

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
  if (policy_ == transport::WaitPolicy::kAdaptive) {
    const auto end = std::chrono::steady_clock::now() + PollDuration();
    do {
      if (absl::Status status = Poll(); !status.ok() || filled_ > 0) return status;
    } while (std::chrono::steady_clock::now() < end);
  }
  if (policy_ != transport::WaitPolicy::kBusy) {
    if (absl::Status status = Poll(); !status.ok() || filled_ > 0) return status;
    if (absl::Status status = Sleep(); !status.ok() || filled_ > 0) return status;
  }
  return Poll();
}

absl::Status CompletionWaiter::Poll() {
  const int count = queue_.Poll(absl::MakeSpan(completions_));
  if (count < 0) return queue_.PollError(count);
  next_ = 0;
  filled_ = count;
  return absl::OkStatus();
}

// Arms, polls once more, and sleeps unless that found something.
absl::Status CompletionWaiter::Sleep() {
  if (absl::Status status = queue_.RequestNotify(/*solicited_only=*/false); !status.ok()) return status;
  if (absl::Status status = Poll(); !status.ok() || filled_ > 0) return status;
  return channel_.NextEvent().status();
}

absl::Status CompletionWaiter::Failure(const ibv_wc& completion) {
  return verbs::CompletionError(completion, "raw work request");
}

}  // namespace verbena::benchmarks
