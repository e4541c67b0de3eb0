// Streaming calls as coroutines make them: what generated stubs return from stub.co(). co_stream.h has the operations.
//
//   auto reader = stub.co()->List(&context, request);
//   demo::Entry entry;
//   while (co_await reader->Read(&entry)) …
//   absl::Status status = co_await reader->Finish();
//
// The call is made at once. Owner: the user; destroying it before Finish was awaited cancels the call and lets go of
// context and reply, which are not touched any more.

#ifndef VERBENA_RPC_CO_CLIENT_STREAM_H_
#define VERBENA_RPC_CO_CLIENT_STREAM_H_

#include <coroutine>
#include <memory>

#include "absl/status/status.h"
#include "google/protobuf/message_lite.h"
#include "rpc/blocking_stream.h"
#include "rpc/co_call_end.h"
#include "rpc/co_stream.h"
#include "rpc/coroutine/awaitable.h"
#include "rpc/coroutine/completion.h"

namespace verbena {
namespace rpc {

// What lives as long as the call.
struct CoStreamingCall : CoCallEnd {
  std::unique_ptr<const google::protobuf::MessageLite> request;  // Null: the client streams.
  std::unique_ptr<google::protobuf::MessageLite> reply;          // Null: the server streams.
  std::shared_ptr<MessageStream> stream;
};

class CoClientStream {
 public:
  CoClientStream(const CoClientStream&) = delete;
  CoClientStream& operator=(const CoClientStream&) = delete;
  ~CoClientStream();

  // To be awaited: the context's initial_metadata(). False: the call has ended, and what there is comes with its end;
  // or it is awaited already.
  auto WaitForInitialMetadata();

  // To be awaited, once: the call's status, for which no write follows. Messages that are unread then are dropped.
  auto Finish();

 protected:
  // `request` is copied. Either is null where that side streams.
  CoClientStream(Channel* channel, const StreamingMethod& method, ClientContext* context,
                 const google::protobuf::MessageLite* request, google::protobuf::MessageLite* reply);

  const std::shared_ptr<MessageStream>& stream() const { return call_->stream; }
  void EndWrites();

 private:
  class FinishAwaiter {
   public:
    explicit FinishAwaiter(CoClientStream* of) : of_(*of) {}
    FinishAwaiter(const FinishAwaiter&) = delete;
    FinishAwaiter& operator=(const FinishAwaiter&) = delete;
    ~FinishAwaiter() { of_.call_->completion.Abandon(); }

    bool await_ready() const { return of_.call_->completion.complete(); }
    bool await_suspend(std::coroutine_handle<> coroutine) { return of_.call_->completion.Suspend(coroutine); }
    absl::Status await_resume() { return of_.TakeEnd(); }

   private:
    CoClientStream& of_;
  };

  class BeginningAwaiter : public StreamAwaiter {
   public:
    BeginningAwaiter(StreamOperation* operation, CoClientStream* of) : StreamAwaiter(operation), of_(*of) {}

    bool await_resume() {
      StreamOperation* const wait = Take();
      if (wait == nullptr || !wait->status.ok()) return false;
      if (!of_.finished_) of_.call_->context.ReturnInitialMetadata(*of_.user_context_);
      return true;
    }

   private:
    CoClientStream& of_;
  };

  absl::Status TakeEnd();

  const MethodKind kind_;
  ClientContext* const user_context_;
  google::protobuf::MessageLite* const user_reply_;  // Null: the server streams.
  const std::shared_ptr<CoStreamingCall> call_;
  std::shared_ptr<StreamOperation> beginning_;  // The wait for the initial metadata. Null: nobody has asked.
  bool finished_ = false;                       // The user has all that the call learned.
};

inline auto CoClientStream::Finish() {
  if (ClientStreams(kind_)) EndWrites();
  return coroutine::Awaitable<FinishAwaiter, CoClientStream*>(this);
}

inline auto CoClientStream::WaitForInitialMetadata() {
  if (beginning_ == nullptr) beginning_ = std::make_shared<StreamOperation>(stream());
  if (!beginning_->begun()) beginning_->AwaitInitialMetadata();
  return coroutine::Awaitable<BeginningAwaiter, StreamOperation*, CoClientStream*>(beginning_.get(), this);
}

}  // namespace rpc

template <typename Reply>
class CoClientReader : public rpc::CoClientStream, public CoReads<Reply> {
 public:
  CoClientReader(Channel* channel, const rpc::StreamingMethod& method, ClientContext* context,
                 const google::protobuf::MessageLite& request)
      : CoClientStream(channel, method, context, &request, nullptr), CoReads<Reply>(stream()) {}
};

template <typename Request>
class CoClientWriter : public rpc::CoClientStream, public CoWrites<Request> {
 public:
  CoClientWriter(Channel* channel, const rpc::StreamingMethod& method, ClientContext* context,
                 google::protobuf::MessageLite* reply)
      : CoClientStream(channel, method, context, nullptr, reply), CoWrites<Request>(stream()) {}

  // No write follows.
  void WritesDone() { EndWrites(); }
};

template <typename Request, typename Reply>
class CoClientReaderWriter : public rpc::CoClientStream, public CoReads<Reply>, public CoWrites<Request> {
 public:
  CoClientReaderWriter(Channel* channel, const rpc::StreamingMethod& method, ClientContext* context)
      : CoClientStream(channel, method, context, nullptr, nullptr),
        CoReads<Reply>(stream()),
        CoWrites<Request>(stream()) {}

  // No write follows; reading goes on.
  void WritesDone() { EndWrites(); }
};

}  // namespace verbena

#endif  // VERBENA_RPC_CO_CLIENT_STREAM_H_
