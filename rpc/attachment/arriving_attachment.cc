#include "rpc/attachment/arriving_attachment.h"

#include <utility>

namespace verbena::rpc {

std::shared_ptr<ArrivingAttachment> ArrivingAttachment::Whole(const absl::Cord& attachment) {
  auto whole = std::make_shared<ArrivingAttachment>(attachment.size());
  whole->Add(attachment);
  return whole;
}

void ArrivingAttachment::Add(absl::Cord part) {
  Waker waker;
  {
    const std::lock_guard lock(mu_);
    if (!failure_.ok()) return;
    came_ += part.size();
    unread_.Append(std::move(part));
    if (ReadableLocked()) waker = std::exchange(waker_, nullptr);
  }
  if (waker != nullptr) waker();
}

void ArrivingAttachment::Fail(absl::Status why) {
  Waker waker;
  {
    const std::lock_guard lock(mu_);
    if (!failure_.ok() || came_ == size_) return;
    failure_ = std::move(why);
    waker = std::exchange(waker_, nullptr);
  }
  if (waker != nullptr) waker();
}

void ArrivingAttachment::Close() {
  Waker waker;  // Dropped without the lock, as are the bytes.
  absl::Cord unread;
  const std::lock_guard lock(mu_);
  failure_ = absl::CancelledError("the call's handler has finished");
  unread.swap(unread_);
  waker = std::exchange(waker_, nullptr);
}

bool ArrivingAttachment::readable() const {
  const std::lock_guard lock(mu_);
  return ReadableLocked();
}

absl::StatusOr<absl::Cord> ArrivingAttachment::Take() {
  const std::lock_guard lock(mu_);
  if (!unread_.empty()) return std::exchange(unread_, absl::Cord());
  if (!failure_.ok()) return failure_;
  if (came_ == size_) return absl::Cord();
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
  }
  waker();
  return true;
}

void ArrivingAttachment::StopAwaiting() {
  Waker waker;
  const std::lock_guard lock(mu_);
  waker = std::exchange(waker_, nullptr);
}

}  // namespace verbena::rpc
