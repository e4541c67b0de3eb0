#include "rpc/blocking/write_behind.h"

#include <mutex>
#include <utility>

#include "rpc/protobuf_bytes.h"

namespace verbena::rpc {
namespace {

// Of a body and of an attachment: with longer ones a message costs as much as to wait for the loop.
constexpr size_t kBehindBytesMax = size_t{64} << 10;
static_assert(kBehindBytesMax <= kCopyBlockBytes);

}  // namespace

absl::Status WriteBehind::Write(const google::protobuf::MessageLite& message, absl::Cord attachment) {
  const Operation operation(this);
  if (!operation.only()) return absl::FailedPreconditionError("another write of this stream is under way");
  if (stream().over()) return MessageStream::CallIsOver();
  if (absl::Status checked = stream().CheckMessage(message, attachment.size()); !checked.ok()) return checked;
  const auto bytes = static_cast<size_t>(message.GetCachedSize());
  const bool may_leave_later =
      std::exchange(has_written_, true) && bytes <= kBehindBytesMax && attachment.size() <= kBehindBytesMax;
  return may_leave_later ? Copy(message, bytes, std::move(attachment)) : Await(message, std::move(attachment));
}

absl::Status WriteBehind::Copy(const google::protobuf::MessageLite& message, size_t bytes, absl::Cord attachment) {
  if (kind_ == nullptr) kind_.reset(message.New());
  bool ask = false;
  {
    std::unique_lock lock(mu_);
    WaitUntil(lock, [this] { return written_.charge() < kWriteBehindBytes || !ended_.ok(); });
    if (absl::Status open = CheckOpen(); !open.ok()) return open;
    WriteMeasured(message, written_.AppendCopy(bytes, std::move(attachment)));
    ask = std::exchange(idle_, false);
  }
  if (ask) AskForTurn();
  return absl::OkStatus();
}

absl::Status WriteBehind::Await(const google::protobuf::MessageLite& message, absl::Cord attachment) {
  Awaited awaited{&message, std::move(attachment)};
  bool ask = false;
  {
    const std::lock_guard lock(mu_);
    if (absl::Status open = CheckOpen(); !open.ok()) return open;
    awaited_ = &awaited;
    ask = std::exchange(idle_, false);
  }
  if (ask) AskForTurn();
  std::unique_lock lock(mu_);
  WaitUntil(lock, [&awaited] { return awaited.done; });
  return awaited.status;
}

absl::Status WriteBehind::CheckOpen() const {
  if (!ended_.ok()) return ended_;
  if (end_asked_) return absl::FailedPreconditionError("the stream was written to after its end was declared");
  return absl::OkStatus();
}

void WriteBehind::EndWrites() {
  {
    const std::lock_guard lock(mu_);
    end_asked_ = true;
    if (!std::exchange(idle_, false)) return;
  }
  AskForTurn();
}

void WriteBehind::Flush() {
  std::unique_lock lock(mu_);
  WaitUntil(lock, [this] { return idle_ || !ended_.ok(); });
}

void WriteBehind::Advance(const absl::Status& status) {
  bool was_awaited = false;
  bool wake = false;
  {
    const std::lock_guard lock(mu_);
    was_awaited = awaited_ != nullptr && awaited_->begun;
    if (was_awaited) {
      FinishAwaited(status);
      wake = TakeSleeper();
    }
  }
  if (wake) WakeLater();
  // What is wrong with a message whose writer waits is for him to say, unless the call is over.
  if (status.ok() || (was_awaited && !absl::IsCancelled(status))) return SendNext();
  End(status);
  WakeLater();
}

void WriteBehind::SendNext() {
  Awaited* awaited = nullptr;
  bool end = false;
  bool wake = false;
  if (leaving_.empty()) {
    leaving_.Clear();
    const std::lock_guard lock(mu_);
    if (!written_.empty()) {
      std::swap(leaving_, written_);
      wake = awaited_ == nullptr && TakeSleeper();  // He waits for room.
    } else if (awaited_ != nullptr) {
      awaited = awaited_;
      awaited->begun = true;
    } else {
      idle_ = true;
      end = end_asked_;
      wake = TakeSleeper();
    }
  }
  if (wake) WakeLater();
  if (awaited != nullptr) {
    stream().Write(awaited->message, std::move(awaited->attachment), Next());
  } else if (!leaving_.empty()) {
    MessageBatch::Message message = leaving_.Take();
    body_ = {message.body, message.body_bytes};
    stream().WriteBody(&body_, std::move(message.beside), kind_.get(), Next());
  } else if (end) {
    stream().EndWrites();
  }
}

void WriteBehind::FinishAwaited(const absl::Status& status) {
  Awaited* const awaited = std::exchange(awaited_, nullptr);
  awaited->status = status;
  awaited->done = true;  // From here on it may be gone.
}

void WriteBehind::End(const absl::Status& status) {
  leaving_ = MessageBatch();
  MessageBatch dropped;  // Destroyed without the lock.
  const std::lock_guard lock(mu_);
  std::swap(dropped, written_);
  if (awaited_ != nullptr) FinishAwaited(status);
  ended_ = status;
}

}  // namespace verbena::rpc
