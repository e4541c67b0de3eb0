// Streams for callers that may block: one thread reads, one writes, each waits until what it asked for is done.
//
// Generated stubs return the client's three classes, generated services hand the server's three to their handlers. At
// either end a slow reader makes the writer at the other end wait in Write. Beside each message may travel an
// attachment, bytes that are not copied where they stand in registered memory (rpc/payload.h); who does not ask for one
// drops it.
//
// Thread: one at a time reads and one at a time writes, no event loop's; with ChannelOptions::loop on the thread that
// drives it, which is driven while they wait.

#ifndef VERBENA_RPC_BLOCKING_STREAM_H_
#define VERBENA_RPC_BLOCKING_STREAM_H_

#include <memory>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/cord.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/message_lite.h"
#include "rpc/core/method_kind.h"

namespace verbena {

class Channel;
class ClientContext;

namespace rpc {

class CompletionWaiter;
class MessageStream;
class ReadAhead;
class WriteBehind;

// A method as stubs name it: "package.Service/Method", in static storage.
struct StreamingMethod {
  absl::string_view name;
  MethodKind kind;
};

// What the client's streams have in common.
class BlockingClientStream {
 public:
  // Makes the call; on an event loop's thread, none: every operation then fails as FAILED_PRECONDITION. `context` and
  // `reply` (null: the server streams) live until Finish has returned or this is destroyed; `request` (null: the client
  // streams) is copied.
  BlockingClientStream(std::shared_ptr<Channel> channel, const StreamingMethod& method, ClientContext* context,
                       const google::protobuf::MessageLite* request, google::protobuf::MessageLite* reply);
  // Cancels the call if Finish was not called, and waits until it is complete; so not on an event loop's thread.
  ~BlockingClientStream();
  BlockingClientStream(const BlockingClientStream&) = delete;
  BlockingClientStream& operator=(const BlockingClientStream&) = delete;

  bool WaitForInitialMetadata();
  bool Read(google::protobuf::MessageLite* message, absl::Cord* attachment);
  absl::Status Write(const google::protobuf::MessageLite& message, absl::Cord attachment);
  void WritesDone();
  absl::Status Finish();

 private:
  using Completion = absl::AnyInvocable<void(absl::Status)>;
  absl::Status Await(absl::FunctionRef<void(MessageStream&, Completion)> operation);

  const std::shared_ptr<Channel> channel_;
  const MethodKind kind_;
  ClientContext* const context_;
  const std::unique_ptr<google::protobuf::MessageLite> request_;
  const std::shared_ptr<CompletionWaiter> finished_;
  std::shared_ptr<MessageStream> stream_;  // Null: there is no call.
  // Null, both: the thread that drives the loop asks the stream itself.
  std::shared_ptr<ReadAhead> reads_;
  std::shared_ptr<WriteBehind> writes_;
  bool finish_called_ = false;
};

// What the server's streams have in common.
class BlockingServerStream {
 public:
  explicit BlockingServerStream(const std::shared_ptr<MessageStream>& stream);
  // Waits until what was written is under way: the call's end follows.
  ~BlockingServerStream();
  BlockingServerStream(const BlockingServerStream&) = delete;
  BlockingServerStream& operator=(const BlockingServerStream&) = delete;

  bool Read(google::protobuf::MessageLite* message, absl::Cord* attachment);
  absl::Status Write(const google::protobuf::MessageLite& message, absl::Cord attachment);

 private:
  const std::shared_ptr<ReadAhead> reads_;
  const std::shared_ptr<WriteBehind> writes_;
};

}  // namespace rpc

// --- The client's.

// A stream of replies. Destroyed before Finish, it cancels the call.
template <typename Reply>
class ClientReader {
 public:
  ClientReader(std::shared_ptr<Channel> channel, const rpc::StreamingMethod& method, ClientContext* context,
               const google::protobuf::MessageLite& request)
      : stream_(std::move(channel), method, context, &request, nullptr) {}

  // Waits until context->initial_metadata() is there. False: the call has ended, and what there is came with that.
  bool WaitForInitialMetadata() { return stream_.WaitForInitialMetadata(); }
  // Waits for the next reply, which comes behind that. False: there is none any more; Finish says whether that is as it
  // should be.
  bool Read(Reply* reply, absl::Cord* attachment = nullptr) { return stream_.Read(reply, attachment); }
  // Waits for the call's status. A server that has more to say than the window holds waits for reads, and so would
  // this: read to the end, or cancel, before.
  absl::Status Finish() { return stream_.Finish(); }

 private:
  rpc::BlockingClientStream stream_;
};

// A stream of requests, answered by one reply.
template <typename Request>
class ClientWriter {
 public:
  ClientWriter(std::shared_ptr<Channel> channel, const rpc::StreamingMethod& method, ClientContext* context,
               google::protobuf::MessageLite* reply)
      : stream_(std::move(channel), method, context, nullptr, reply) {}

  // As of ClientReader.
  bool WaitForInitialMetadata() { return stream_.WaitForInitialMetadata(); }
  // Waits while the server's window has no room and some 600 KiB wait for it; the first message, one of more than 64
  // KiB and one with more than 64 KiB attached, until it is under way. Then it is the caller's again. Cancelled: the
  // call is over, and Finish says why; what was written last may not have left. FailedPrecondition (after WritesDone),
  // ResourceExhausted (larger than message_bytes_max), InvalidArgument (lacks required fields): not sent, and the call
  // goes on.
  absl::Status Write(const Request& request, absl::Cord attachment = {}) {
    return stream_.Write(request, std::move(attachment));
  }
  // No request follows. Finish implies it.
  void WritesDone() { stream_.WritesDone(); }
  // Waits for the call's status and, if that is OK, its reply.
  absl::Status Finish() { return stream_.Finish(); }

 private:
  rpc::BlockingClientStream stream_;
};

// A stream each way. Read and Write may be called by two threads at the same time.
template <typename Request, typename Reply>
class ClientReaderWriter {
 public:
  ClientReaderWriter(std::shared_ptr<Channel> channel, const rpc::StreamingMethod& method, ClientContext* context)
      : stream_(std::move(channel), method, context, nullptr, nullptr) {}

  // As of ClientReader and ClientWriter.
  bool WaitForInitialMetadata() { return stream_.WaitForInitialMetadata(); }
  bool Read(Reply* reply, absl::Cord* attachment = nullptr) { return stream_.Read(reply, attachment); }
  absl::Status Write(const Request& request, absl::Cord attachment = {}) {
    return stream_.Write(request, std::move(attachment));
  }
  void WritesDone() { stream_.WritesDone(); }
  absl::Status Finish() { return stream_.Finish(); }

 private:
  rpc::BlockingClientStream stream_;
};

// --- The server's, for handlers on the executor. What they return ends the call.

template <typename Request>
class ServerReader {
 public:
  explicit ServerReader(const std::shared_ptr<rpc::MessageStream>& stream) : stream_(stream) {}

  // Waits for the next request. False: the client has sent all, or nobody waits for the answer any more
  // (ServerContext::IsCancelled).
  bool Read(Request* request, absl::Cord* attachment = nullptr) { return stream_.Read(request, attachment); }

 private:
  rpc::BlockingServerStream stream_;
};

template <typename Reply>
class ServerWriter {
 public:
  explicit ServerWriter(const std::shared_ptr<rpc::MessageStream>& stream) : stream_(stream) {}

  // As of ClientWriter. Cancelled: nobody waits any more.
  absl::Status Write(const Reply& reply, absl::Cord attachment = {}) {
    return stream_.Write(reply, std::move(attachment));
  }

 private:
  rpc::BlockingServerStream stream_;
};

template <typename Reply, typename Request>
class ServerReaderWriter {
 public:
  explicit ServerReaderWriter(const std::shared_ptr<rpc::MessageStream>& stream) : stream_(stream) {}

  bool Read(Request* request, absl::Cord* attachment = nullptr) { return stream_.Read(request, attachment); }
  absl::Status Write(const Reply& reply, absl::Cord attachment = {}) {
    return stream_.Write(reply, std::move(attachment));
  }

 private:
  rpc::BlockingServerStream stream_;
};

}  // namespace verbena

#endif  // VERBENA_RPC_BLOCKING_STREAM_H_
