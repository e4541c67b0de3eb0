#include "rpc/blocking/read_ahead.h"

#include <cstring>
#include <memory>
#include <mutex>
#include <utility>

#include "rpc/completion_waiter.h"
#include "rpc/protobuf_bytes.h"

namespace verbena::rpc {
namespace {

// Longer ones stay where they came.
constexpr size_t kCopiedBytesMax = size_t{16} << 10;
static_assert(kCopiedBytesMax <= kCopyBlockBytes);
constexpr uint64_t kReportsPerWindow = 8;

bool ParseBody(const MessageBatch::Message& from, google::protobuf::MessageLite* into) {
  if (from.copied) return ParseMessage({from.body, from.body_bytes}, into);
  absl::Cord body = from.beside.Subcord(0, from.body_bytes);
  const absl::string_view bytes = body.Flatten();  // Mostly it is one piece.
  return ParseMessage({reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()}, into);
}

}  // namespace

bool ReadAhead::Read(google::protobuf::MessageLite* message, absl::Cord* attachment) {
  const Operation operation(this);
  if (!operation.only()) return false;
  if (stream().unreadable() || stream().dropped()) {
    reading_ = MessageBatch();
    DropArrived();
    return false;
  }
  if (scratch_ == nullptr) scratch_.reset(message->New());
  if (reading_.empty() && !Refill()) return false;
  MessageBatch::Message next = reading_.Take();
  Count(next.charge());
  if (!ParseBody(next, message)) return Refuse();
  if (attachment != nullptr) {
    if (!next.copied) next.beside.RemovePrefix(next.body_bytes);
    *attachment = std::move(next.beside);
  }
  return true;
}

// The sender is to go on before half of his window has been read unseen (StreamReceiver::TakeWindowUpdate).
void ReadAhead::Count(uint64_t charge) {
  unreported_ += charge;
  if (unreported_ >= stream().window_bytes() / kReportsPerWindow) stream().OnRead(std::exchange(unreported_, 0));
}

// When the call is over: false is not to be taken for the stream's end.
bool ReadAhead::Refuse() {
  const auto over = std::make_shared<CompletionWaiter>();
  stream().RefuseTaken(SharedCompletion(over));
  over->Wait().IgnoreError();
  return false;
}

// Waits for messages. False: there is no further one.
bool ReadAhead::Refill() {
  reading_.Clear();
  if (!std::exchange(begun_, true)) AskForTurn();
  std::unique_lock lock(mu_);
  WaitUntil(lock, [this] { return !arrived_.empty() || ended_; });
  std::swap(reading_, arrived_);
  return !reading_.empty();
}

void ReadAhead::Advance(const absl::Status& status) {
  if (!status.ok()) {
    End(status);
    if (stream().dropped() && !under_way()) DropArrived();  // Nobody comes for it.
    return WakeLater();
  }
  stream().ReadTo(this, scratch_.get(), Next());
}

void ReadAhead::DropArrived() {
  MessageBatch dropped;  // Destroyed without the lock.
  const std::lock_guard lock(mu_);
  std::swap(dropped, arrived_);
}

void ReadAhead::End(const absl::Status&) {
  const std::lock_guard lock(mu_);
  ended_ = true;
}

void ReadAhead::Take(const ReceivedMessage& message) {
  std::unique_lock lock(mu_);
  const size_t body_bytes = message.body.size();
  if (body_bytes <= kCopiedBytesMax) {
    const bool attached = message.payload_bytes > body_bytes;
    std::byte* const to = arrived_.AppendCopy(body_bytes, attached ? message.share(body_bytes) : absl::Cord());
    if (body_bytes > 0) std::memcpy(to, message.body.data(), body_bytes);
  } else {
    arrived_.AppendShared(message.share(0), body_bytes);
  }
  const bool wake = TakeSleeper();
  lock.unlock();
  if (wake) WakeLater();
}

}  // namespace verbena::rpc
