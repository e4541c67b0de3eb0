// The two ways of a call's streams, as coroutines read and write them: what the streams of both ends are made of
// (co_client_stream.h, co_server_stream.h).
//
// Owner: the user. It has one read and one write in flight at most. Thread: the event loop on which it was made, which
// is where its awaiter goes on (made on a thread that runs none: the channel's).
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

// One way's operation, with the message that it is about.
//
// Owner: who reads or writes, until LetGo. Where all are on one loop the stream and the awaiter know it by mere
// pointers: shares of it would be six locked instructions for each message.
struct StreamOperation : std::enable_shared_from_this<StreamOperation> {
  explicit StreamOperation(std::shared_ptr<MessageStream> of) : stream(std::move(of)) {}

  // Its owner goes: nobody waits for it any more, and it stays as long as the stream has it.
  static void LetGo(const std::shared_ptr<StreamOperation>& operation);

  const std::shared_ptr<MessageStream> stream;
  coroutine::Completion completion;
  StreamAwaiter* awaiter = nullptr;         // Who waits for it.
  bool begun = false;                       // And its end not taken.
  bool lent = false;                        // The stream has it, by a mere pointer.
  std::shared_ptr<StreamOperation> itself;  // So long, where its owner has gone.
  absl::Cord attachment;
  absl::Status status;  // Of the complete one.
};

template <typename Message>
struct StreamOperationOn : StreamOperation {
  using StreamOperation::StreamOperation;

  Message message;
};

void BeginRead(StreamOperation& operation, google::protobuf::MessageLite* into);
void BeginAwaitingInitialMetadata(StreamOperation& operation);
void BeginWrite(StreamOperation& operation, const google::protobuf::MessageLite* message);

// Its functions are part of the coroutine that awaits, also of the second one in a file: gcc inlines what one calls.
class StreamAwaiter {
 public:
  explicit StreamAwaiter(StreamOperation* operation) : operation_(operation) {}
  StreamAwaiter(const StreamAwaiter&) = delete;
  StreamAwaiter& operator=(const StreamAwaiter&) = delete;
  [[gnu::always_inline]] ~StreamAwaiter() {
    if (operation_ == nullptr || operation_->awaiter != this) return;
    operation_->completion.Abandon();
    operation_->awaiter = nullptr;
  }

  [[gnu::always_inline]] bool await_ready() {
    // The operation is one awaiter's: another, beside it, gets nothing.
    if (operation_->completion.awaited()) operation_ = nullptr;
    return operation_ == nullptr || operation_->completion.complete();
  }
  [[gnu::always_inline]] bool await_suspend(std::coroutine_handle<> coroutine) {
    operation_->awaiter = this;
    return operation_->completion.Suspend(coroutine);
  }
  // There is nothing to wait for any more.
  void Forget() { operation_ = nullptr; }

 protected:
  // Null: it is another awaiter's.
  StreamOperation* Take() {
    if (operation_ == nullptr) return nullptr;
    operation_->begun = false;
    operation_->awaiter = nullptr;
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
    if (!read_->begun) rpc::BeginRead(*read_, &read_->message);
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
    NextMessage() = std::move(message);
    message.Clear();  // It has what was written before, and who fills it again expects it empty.
    return Begin(std::move(attachment));
  }
  auto Write(const Message& message, absl::Cord attachment = {}) {
    Message& next = NextMessage();
    if (next.GetCachedSize() > kReusedBytesMax) next = Message();
    next = message;
    return Begin(std::move(attachment));
  }

 protected:
  explicit CoWrites(std::shared_ptr<rpc::MessageStream> stream) : write_(MakeWrite(std::move(stream))) {}
  ~CoWrites() { rpc::StreamOperation::LetGo(write_); }
  CoWrites(const CoWrites&) = delete;
  CoWrites& operator=(const CoWrites&) = delete;

 private:
  // A small message is copied into the memory of the one before; that of a larger one is not kept for it.
  static constexpr int kReusedBytesMax = 64 << 10;

  static auto MakeWrite(std::shared_ptr<rpc::MessageStream> stream) {
    return std::make_shared<rpc::StreamOperationOn<Message>>(std::move(stream));
  }
  // As the one before left it.
  Message& NextMessage() {
    // A write that was given up has its message until it is made.
    if (write_->begun && !write_->completion.complete()) {
      rpc::StreamOperation::LetGo(std::exchange(write_, MakeWrite(write_->stream)));
    }
    return write_->message;
  }
  auto Begin(absl::Cord attachment) {
    write_->attachment = std::move(attachment);
    rpc::BeginWrite(*write_, &write_->message);
    return coroutine::Awaitable<rpc::WriteAwaiter, rpc::StreamOperation*>(write_.get());
  }

  std::shared_ptr<rpc::StreamOperationOn<Message>> write_;
};

}  // namespace verbena

#endif  // VERBENA_RPC_CO_STREAM_H_
