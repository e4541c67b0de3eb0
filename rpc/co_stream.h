// The two ways of a call's streams, as coroutines read and write them: what the streams of both ends are made of
// (co_client_stream.h, co_server_stream.h).
//
// Owner: the user. It has one read and one write in flight at most. Thread: the event loop on which it was made, which
// is where its awaiter goes on (made on a thread that runs none: the channel's). It outlives what Read and Write return
// until that is awaited.
//
// A coroutine that is destroyed while it awaits loses nothing and leaves nothing dangling: the message of a read that
// was given up is what the next Read brings; a write that was given up is made all the same.
//
// Allocations: one for each way of a stream, none for a read or a write, beside what the messages allocate and the
// tasks by which threads reach each other. Messages serve again: a read leaves its message's former memory to a next
// one, and so does a write of a message that is moved into it; one that is copied takes the memory of the one before.

#ifndef VERBENA_RPC_CO_STREAM_H_
#define VERBENA_RPC_CO_STREAM_H_

#include <coroutine>
#include <memory>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/strings/cord.h"
#include "google/protobuf/message_lite.h"
#include "rpc/coroutine/async_generator.h"
#include "rpc/coroutine/awaitable.h"
#include "rpc/coroutine/completion.h"

namespace verbena {
namespace rpc {

class MessageStream;
class StreamAwaiter;

// One way's operation, with the message that it is about: it begins, ends, and begins anew.
//
// Owner: who reads or writes, until LetGo. Its awaiter knows it by a mere pointer, and on one loop so does the stream:
// shares of it would be six locked instructions for each message. Thread: the owner's, who awaits it there.
class StreamOperation : public std::enable_shared_from_this<StreamOperation> {
 public:
  explicit StreamOperation(std::shared_ptr<MessageStream> stream) : stream_(std::move(stream)) {}

  // --- For its owner.

  void Read(google::protobuf::MessageLite* into);
  void Write(const google::protobuf::MessageLite* message);
  void AwaitInitialMetadata();
  // Begun, and its end not taken; the stream has it.
  bool begun() const { return begun_; }
  bool under_way() const { return begun_ && !complete(); }
  // The owner goes: nobody waits for it any more, and it stays as long as the stream has it.
  static void LetGo(const std::shared_ptr<StreamOperation>& operation);

  // --- For who awaits it, one at a time.

  bool awaited() const { return completion_.awaited(); }
  bool complete() const { return completion_.complete(); }
  [[gnu::always_inline]] bool Suspend(StreamAwaiter* awaiter, std::coroutine_handle<> coroutine) {
    awaiter_ = awaiter;
    return completion_.Suspend(coroutine);
  }
  void Leave(const StreamAwaiter* awaiter) {
    if (awaiter_ != awaiter) return;
    completion_.Abandon();
    awaiter_ = nullptr;
  }
  void TakeEnd() {
    begun_ = false;
    awaiter_ = nullptr;
  }

  absl::Cord attachment;
  absl::Status status;  // Of the complete one.

 private:
  absl::AnyInvocable<void(absl::Status)> Begin();
  static void End(std::shared_ptr<StreamOperation> operation, absl::Status status);
  void EndLent(absl::Status status);

  const std::shared_ptr<MessageStream> stream_;
  coroutine::Completion completion_;
  StreamAwaiter* awaiter_ = nullptr;  // Suspended; only of one that is begun.
  bool begun_ = false;
  bool lent_ = false;                        // The stream has it by a mere pointer; only one that is begun.
  std::shared_ptr<StreamOperation> itself_;  // So long, where its owner has gone.
};

template <typename Message>
struct StreamOperationOn : StreamOperation {
  using StreamOperation::StreamOperation;

  Message message;
};

// Its functions are part of the coroutine that awaits, also of the second one in a file: gcc inlines what one calls.
class StreamAwaiter {
 public:
  // Null: there is nothing to await.
  explicit StreamAwaiter(StreamOperation* operation) : operation_(operation) {}
  StreamAwaiter(const StreamAwaiter&) = delete;
  StreamAwaiter& operator=(const StreamAwaiter&) = delete;
  [[gnu::always_inline]] ~StreamAwaiter() {
    if (operation_ != nullptr) operation_->Leave(this);
  }

  [[gnu::always_inline]] bool await_ready() {
    // The operation is one awaiter's: another, beside it, gets nothing.
    if (operation_ != nullptr && operation_->awaited()) operation_ = nullptr;
    return operation_ == nullptr || operation_->complete();
  }
  [[gnu::always_inline]] bool await_suspend(std::coroutine_handle<> coroutine) {
    return operation_->Suspend(this, coroutine);
  }
  // The operation's owner has gone.
  void Forget() { operation_ = nullptr; }

 protected:
  // Null: it is another awaiter's, or there was none.
  StreamOperation* Take() {
    if (operation_ != nullptr) operation_->TakeEnd();
    return std::exchange(operation_, nullptr);
  }

 private:
  StreamOperation* operation_;
};

template <typename Message>
class ReadAwaiter : public StreamAwaiter {
 public:
  ReadAwaiter(StreamOperationOn<Message>* operation, Message* into, absl::Cord* attachment)
      : StreamAwaiter(operation), into_(into), attachment_(attachment) {}

  [[gnu::always_inline]] bool await_resume() {
    auto* const read = static_cast<StreamOperationOn<Message>*>(Take());
    if (read == nullptr || !read->status.ok()) return false;
    *into_ = std::move(read->message);
    absl::Cord attachment = std::exchange(read->attachment, absl::Cord());
    if (attachment_ != nullptr) *attachment_ = std::move(attachment);
    return true;
  }

 private:
  Message* const into_;
  absl::Cord* const attachment_;  // Null: dropped.
};

class WriteAwaiter : public StreamAwaiter {
 public:
  using StreamAwaiter::StreamAwaiter;

  absl::Status await_resume() {
    StreamOperation* const write = Take();
    if (write == nullptr) return absl::FailedPreconditionError("another write of this stream is under way");
    return std::move(write->status);
  }
};

}  // namespace rpc

template <typename Message>
class CoReads {
 public:
  // To be awaited: the next message, into `*into`, and what came beside it, into `*attachment`. False: there is none,
  // or the call has ended otherwise, which its status says; or another read is awaited already.
  auto Read(Message* into, absl::Cord* attachment = nullptr) {
    if (!read_->begun()) read_->Read(&read_->message);
    return coroutine::Awaitable<rpc::ReadAwaiter<Message>, rpc::StreamOperationOn<Message>*, Message*, absl::Cord*>(
        read_.get(), into, attachment);
  }

  // All that are still to come, one after the other. This outlives it.
  AsyncGenerator<Message> Messages() {
    Message message;
    while (co_await Read(&message)) co_yield std::exchange(message, Message());
  }

 protected:
  explicit CoReads(std::shared_ptr<rpc::MessageStream> stream)
      : read_(std::make_shared<rpc::StreamOperationOn<Message>>(std::move(stream))) {}
  ~CoReads() { rpc::StreamOperation::LetGo(read_); }
  CoReads(const CoReads&) = delete;
  CoReads& operator=(const CoReads&) = delete;

 private:
  const std::shared_ptr<rpc::StreamOperationOn<Message>> read_;
};

template <typename Message>
class CoWrites {
 public:
  // To be awaited: OK when the message is on its way, which a slow reader delays. InvalidArgument, ResourceExhausted:
  // it was not written and the stream is as before. FailedPrecondition: another write is under way, or no more is
  // allowed. Cancelled: the call is over; its status says why.
  auto Write(Message&& message, absl::Cord attachment = {}) {
    if (write_->under_way()) return Awaited(nullptr);
    write_->message = std::move(message);
    message.Clear();  // It has what was written before, and who fills it again expects it empty.
    return Begin(std::move(attachment));
  }
  auto Write(const Message& message, absl::Cord attachment = {}) {
    if (write_->under_way()) return Awaited(nullptr);
    Message& next = write_->message;
    if (next.GetCachedSize() > kReusedBytesMax) next = Message();
    next = message;
    return Begin(std::move(attachment));
  }

 protected:
  explicit CoWrites(std::shared_ptr<rpc::MessageStream> stream)
      : write_(std::make_shared<rpc::StreamOperationOn<Message>>(std::move(stream))) {}
  ~CoWrites() { rpc::StreamOperation::LetGo(write_); }
  CoWrites(const CoWrites&) = delete;
  CoWrites& operator=(const CoWrites&) = delete;

 private:
  // A small message is copied into the memory of the one before; that of a larger one is not kept for it.
  static constexpr int kReusedBytesMax = 64 << 10;

  static auto Awaited(rpc::StreamOperation* write) {
    return coroutine::Awaitable<rpc::WriteAwaiter, rpc::StreamOperation*>(write);
  }
  auto Begin(absl::Cord attachment) {
    write_->attachment = std::move(attachment);
    write_->Write(&write_->message);
    return Awaited(write_.get());
  }

  const std::shared_ptr<rpc::StreamOperationOn<Message>> write_;
};

}  // namespace verbena

#endif  // VERBENA_RPC_CO_STREAM_H_
