#include "rpc/attachment/arriving_attachment.h"

#include <utility>

namespace verbena::rpc {

// A waker that runs on this thread: a stack frame of Run, which has been counted in running_.
class ArrivingAttachment::Running {
 public:
  explicit Running(ArrivingAttachment* attachment) : attachment_(attachment), outer_(std::exchange(innermost_, this)) {}
  ~Running() {
    innermost_ = outer_;
    const std::lock_guard lock(attachment_->mu_);
    --attachment_->running_;
    attachment_->ran_.notify_all();
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  static int CountOf(const ArrivingAttachment* attachment) {
    int count = 0;
    for (const Running* running = innermost_; running != nullptr; running = running->outer_) {
      count += running->attachment_ == attachment;
    }
    return count;
  }

 private:
  static inline thread_local Running* innermost_ = nullptr;
  ArrivingAttachment* const attachment_;
  Running* const outer_;
};

std::shared_ptr<ArrivingAttachment> ArrivingAttachment::Whole(const absl::Cord& attachment) {
  auto whole = std::make_shared<ArrivingAttachment>(attachment.size());
  whole->Add(attachment);
  return whole;
}

ArrivingAttachment::Waker ArrivingAttachment::TakeWakerLocked() {
  if (waker_ != nullptr) ++running_;
  return std::exchange(waker_, nullptr);
}

void ArrivingAttachment::Run(Waker waker) {
  if (waker == nullptr) return;
  const Running running(this);
  Waker now = std::move(waker);  // It goes, with all that it holds, before Close hears of that; and if it throws.
  now();
}

void ArrivingAttachment::Add(absl::Cord part) {
  Waker waker;
  {
    const std::lock_guard lock(mu_);
    if (!failure_.ok()) return;
    came_ += part.size();
    unread_.Append(std::move(part));
    if (ReadableLocked()) waker = TakeWakerLocked();
  }
  Run(std::move(waker));
}

void ArrivingAttachment::Fail(absl::Status why) {
  Waker waker;
  {
    const std::lock_guard lock(mu_);
    if (!failure_.ok() || WholeLocked()) return;
    failure_ = std::move(why);
    waker = TakeWakerLocked();
  }
  Run(std::move(waker));
}

void ArrivingAttachment::Close() {
  Waker waker;  // Dropped without the lock, as are the bytes.
  absl::Cord unread;
  std::unique_lock lock(mu_);
  failure_ = absl::CancelledError("the call's handler has finished");
  unread.swap(unread_);
  waker = std::exchange(waker_, nullptr);
  const int here = Running::CountOf(this);
  ran_.wait(lock, [this, here]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return running_ == here; });
}

bool ArrivingAttachment::readable() const {
  const std::lock_guard lock(mu_);
  return ReadableLocked();
}

absl::StatusOr<absl::Cord> ArrivingAttachment::Take() {
  const std::lock_guard lock(mu_);
  if (!unread_.empty()) return std::exchange(unread_, absl::Cord());
  if (!failure_.ok()) return failure_;
  if (WholeLocked()) return absl::Cord();
  return absl::FailedPreconditionError("nothing of the attachment has come since it was read last");
}

bool ArrivingAttachment::Await(Waker waker) {
  {
    const std::lock_guard lock(mu_);
    if (waker_ != nullptr) return false;
    if (!ReadableLocked()) {
      waker_ = std::move(waker);
      return true;
    }
    ++running_;
  }
  Run(std::move(waker));
  return true;
}

void ArrivingAttachment::StopAwaiting() {
  Waker waker;
  const std::lock_guard lock(mu_);
  waker = std::exchange(waker_, nullptr);
}

}  // namespace verbena::rpc
