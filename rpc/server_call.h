// One call at the server: its messages, its context, its outcome. And its way: out to the handler, back to the loop.
//
// Recycled: a loop keeps the calls of each method with their messages, the last request in them until the next, or
// until none has needed them for a while (idle_calls.h). With a large request they are kept by themselves
// (kept_messages.h).
//
// Owner: the handler's side from Run to Finish (the responder, or the executor's task); before and after, the
// connection that took it. Thread: its owner's; MarkCancelled the loop's, while the connection has it or it is out.

#ifndef VERBENA_RPC_SERVER_CALL_H_
#define VERBENA_RPC_SERVER_CALL_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "base/clear_cord.h"
#include "rpc/attachment/arriving_attachment.h"
#include "rpc/certainty.h"
#include "rpc/core/metadata_codec.h"
#include "rpc/executor/callback_scope.h"
#include "rpc/executor/handler_queue.h"
#include "rpc/interceptor/interceptor_chain.h"
#include "rpc/kept_messages.h"
#include "rpc/loop_gate.h"
#include "rpc/message_stream.h"
#include "rpc/protobuf_bytes.h"
#include "rpc/server_context.h"
#include "rpc/service.h"
#include "transport/connection.h"

namespace verbena::rpc {

class ServerConnection;

class ServerCall : public transport::PayloadSource, public StreamWire, private Responder::Target {
 public:
  // A message with more bytes is a large one.
  static constexpr size_t kSmallMessageBytesMax = 16 << 10;

  // If there are none in `messages` it makes its own.
  ServerCall(const Method* method, uint32_t method_index, std::shared_ptr<LoopGate> gate, CallMessages messages);
  ~ServerCall() override = default;

  // A new life. `local` is the session's id; `deadline` is on the wall clock.
  void Begin(ServerConnection* connection, uint64_t local, const CallPeer* peer, absl::Time deadline);
  // False: the bytes are not a request.
  bool Parse(absl::Span<const std::byte> body);
  void set_request_attachment(absl::Cord attachment) { context_.request_attachment_ = std::move(attachment); }
  // Its attachment comes in the parts of this fetch, and is shared with whoever adds to it; before Run.
  void ReadInParts(uint64_t fetch_id, const std::shared_ptr<ArrivingAttachment>& attachment) {
    fetch_id_ = fetch_id;
    context_.arriving_ = arriving_ = attachment;
  }
  const std::shared_ptr<ArrivingAttachment>& arriving() const { return arriving_; }  // Null: it does not come in parts.
  uint64_t fetch_id() const { return fetch_id_; }                                    // If it does.
  // `fields` are those of the request's header.
  void ReadClientMetadata(absl::Span<const std::byte> fields);

  // Hands the call to its method's handler here and now: one that does not block. However the handler ends, the call
  // comes back to its gate's sink, exactly once.
  static void Run(std::unique_ptr<ServerCall> call);
  // The same for one that may block, when and where the task is called; or with the refusal that the task is called
  // with.
  static HandlerQueue::Task RunLater(std::unique_ptr<ServerCall> call);
  // Sends the call back with the outcome.
  static void Finish(std::unique_ptr<ServerCall> call, absl::Status status);
  // It is over, and never runs.
  void Refuse(absl::Status why);

  // The interceptors of the call see it from here on; before Run. Not OK: one refuses it.
  absl::Status Intercept(const ServerInterceptors& makers, const std::string& method);
  // It is back, and is to be answered with status(), or, not `answered`, nobody waits for that: they see its end.
  void EndInterception(bool answered) {
    if (is_intercepted()) EndChain(answered);
  }

  // The streams of a call of such a kind, there until it is recycled. Before Run. The loop's thread.
  void OpenStream(std::shared_ptr<MessageStream> stream);
  MessageStream* stream() const { return context_.stream_.get(); }  // Null: unary.
  // It is back, and its stream has finished. A message that was lost is the call's error, if it has no other.
  void TakeStreamsEnd();
  MethodKind kind() const { return method_->kind; }

  // Tells the handler that nobody waits any more. What it has set for that runs in here and may be the call's end.
  void MarkCancelled();
  // Ahead of that: its handler is to know by the time at which its stream fails.
  void SayCancelled() { context_.signal_.Say(); }
  bool IsCancelled() const { return context_.IsCancelled(); }

  // What to answer. MeasureReply comes before Send, where the status is OK: it fixes size(). The status is
  // ResourceExhausted then if the reply and its attachment are larger than message_bytes_max, Internal if there is no
  // reply that an attachment could be beside.
  const absl::Status& status() const { return status_; }
  bool was_refused() const { return !status_.ok() && GetCertainty(status_) == Certainty::kNotSent; }  // It never ran.
  void MeasureReply(uint64_t message_bytes_max);
  // Where a header of `room` bytes cannot carry the response's metadata: drops it, and says so in the status.
  void FitMetadata(size_t room) {
    if (initial_has_left_ || !response_metadata().empty()) FitSomeMetadata(room);
  }
  const ResponseMetadata& response_metadata() const { return context_.response_metadata_; }
  absl::Cord TakeReplyAttachment() { return std::exchange(context_.response_attachment_, absl::Cord()); }
  size_t size() const override { return reply_bytes_; }
  void WriteTo(std::byte* to) override;  // After a large request it has no messages any more: they are kept elsewhere.

  uint64_t SendMessage(const StreamHeader& header, transport::PayloadSource* payload, absl::Cord attachment,
                       bool may_leave) override;
  void SendEnd(uint64_t count) override;
  void SendWindow(uint64_t limit) override;
  void CancelSend(uint64_t send_id) override;
  void SendInitialMetadata() override;
  void Fail(const absl::Status& status) override;
  void OnFinished() override;

  // Forgets everything but the messages' memory. False, and it forgets nothing: that is too much to be kept with each
  // call.
  bool Recycle();
  // Forgets everything, its messages too: Equip gives it others.
  void Strip();
  // Null ones: new ones are made.
  void Equip(CallMessages messages);
  bool has_large_request() const { return request_bytes_ > kSmallMessageBytesMax; }
  size_t request_bytes() const { return request_bytes_; }
  // What is in its reply, be it sent or not. It has its messages.
  size_t ReplyBytes() const { return reply_bytes_ > 0 ? reply_bytes_ : messages_.reply->ByteSizeLong(); }
  // Null ones if they are taken. Nothing follows but the call's end.
  CallMessages TakeMessages() { return std::move(messages_); }
  bool has_messages() const { return messages_.request != nullptr; }

  const std::shared_ptr<LoopGate>& gate() const { return gate_; }
  ServerConnection* connection() const { return connection_; }  // Null: gone.
  // It goes, and leaves `peer` to the call.
  void Detach(std::shared_ptr<const CallPeer> peer) {
    connection_ = nullptr;
    kept_peer_ = std::move(peer);
  }
  uint64_t local() const { return local_; }
  uint32_t method_index() const { return method_index_; }

  // While no call has it: until the next one begins it is known as unused.
  void MarkUnused() { local_ = 0; }
  bool is_unused() const { return local_ == 0; }

 private:
  class HandlerToken;
  // The handler's side of a call, its responder or the executor's task, finishes or drops it.
  void Finish(absl::Status status) override;
  void Drop() override;
  bool InitialMetadataFits();
  void FitSomeMetadata(size_t room);
  void ForgetArriving();
  void ForgetCall();
  bool is_intercepted() const { return chain_ != nullptr && !chain_->empty(); }
  void EndChain(bool answered);
  static void RunBlocking(std::unique_ptr<ServerCall> call, absl::Status admitted);
  void EndUse();

  // Constant after construction.
  const Method* const method_;
  const uint32_t method_index_;
  const std::shared_ptr<LoopGate> gate_;

  // The owner's.
  CallMessages messages_;
  ServerContext context_;
  absl::Status status_;
  size_t request_bytes_ = 0;
  size_t reply_bytes_ = 0;

  // The loop's.
  ServerConnection* connection_ = nullptr;
  uint64_t local_ = 0;
  std::shared_ptr<const CallPeer> kept_peer_;  // The context's, of a connection that is gone: its last use.
  // The context's, if it comes in parts; of other calls the handler may have the context make one.
  std::shared_ptr<ArrivingAttachment> arriving_;
  uint64_t fetch_id_ = 0;
  bool initial_has_left_ = false;  // The initial metadata, with the first message.
  bool initial_was_said_ = false;  // By itself.
  // Null or empty: nobody is interested. An empty one is the next unary call's.
  std::shared_ptr<InterceptorChain<ServerContext>> chain_;
};

// --- What every call passes.

inline void ServerCall::Begin(ServerConnection* connection, uint64_t local, const CallPeer* peer, absl::Time deadline) {
  connection_ = connection;
  local_ = local;
  context_.peer_ = peer;  // Without a share: no call would touch anything as dear as its count.
  context_.deadline_ = deadline;
}

inline bool ServerCall::Parse(absl::Span<const std::byte> body) {
  request_bytes_ = body.size();
  const bool parsed = ParseMessage(body, messages_.request.get());
  if (parsed && has_large_request()) messages_.SetApart(request_bytes_);
  return parsed;
}

inline void ServerCall::ReadClientMetadata(absl::Span<const std::byte> fields) {
  ReadMetadata(fields, HeaderFieldType::kMetadata, &context_.client_metadata_);
}

[[gnu::always_inline]] inline void ServerCall::MeasureReply(uint64_t message_bytes_max) {
  const size_t attachment_bytes = context_.response_attachment_.size();
  if (!ServerStreams(method_->kind)) {
    reply_bytes_ = messages_.reply->ByteSizeLong();
    if (MessageFits(reply_bytes_, attachment_bytes, message_bytes_max)) return;
    status_ = TooManyMessageBytes("reply", reply_bytes_, attachment_bytes, message_bytes_max);
  } else if (attachment_bytes > 0) {
    status_ = absl::InternalError("the handler set an attachment; a stream of replies has them beside its messages");
  }
  SetCertainty(&status_, Certainty::kExecuted);
}

inline void LoopGate::Return(std::unique_ptr<ServerCall> call) {
  LoopGate* const gate = call->gate().get();
  if (CallbackScope::current() == gate) return gate->sink_->OnCallFinished(std::move(call));
  ReturnByTask(std::move(call));
}

[[gnu::always_inline]] inline bool ServerCall::Recycle() {
  if (has_large_request() || ReplyBytes() > kSmallMessageBytesMax) return false;
  ForgetCall();
  messages_.reply->Clear();  // The request is, when the next one is parsed.
  return true;
}

[[gnu::always_inline]] inline void ServerCall::ForgetCall() {
  connection_ = nullptr;
  context_.stream_ = nullptr;
  if (context_.arriving_ != nullptr) ForgetArriving();
  context_.initial_is_fixed_ = false;
  initial_has_left_ = false;
  initial_was_said_ = false;
  if (is_intercepted()) chain_ = nullptr;
  reply_bytes_ = 0;
  status_ = absl::OkStatus();
  ClearCord(context_.request_attachment_);
  ClearCord(context_.response_attachment_);
  context_.client_metadata_.Clear();
  context_.response_metadata_.Clear();
  context_.signal_.Reset();
}

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_SERVER_CALL_H_
