#include "rpc/server_call.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/clear_cord.h"
#include "base/run_catching.h"
#include "rpc/certainty.h"
#include "rpc/core/metadata_codec.h"
#include "rpc/core/status_codec.h"
#include "rpc/executor/callback_scope.h"
#include "rpc/executor/handler_scope.h"
#include "rpc/method_registry.h"
#include "rpc/protobuf_bytes.h"
#include "rpc/server_connection.h"

namespace verbena::rpc {

constexpr absl::string_view kHandler = "the handler";
constexpr absl::string_view kDropped = "the handler dropped its responder";

// Where a call lands whose responder is dropped while the code that made it is still on this thread's stack: that code
// knows better why.
class DropScope {
 public:
  explicit DropScope(const ServerCall* call) : call_(call), outer_(std::exchange(innermost, this)) {}
  ~DropScope() { innermost = outer_; }
  DropScope(const DropScope&) = delete;
  DropScope& operator=(const DropScope&) = delete;

  // Null: the responder was not dropped, or elsewhere.
  std::unique_ptr<ServerCall> TakeDropped() { return std::move(dropped_); }

  static bool Catch(std::unique_ptr<ServerCall>& call) {
    for (DropScope* scope = innermost; scope != nullptr; scope = scope->outer_) {
      if (scope->call_ != call.get()) continue;
      scope->dropped_ = std::move(call);
      return true;
    }
    return false;
  }

 private:
  static thread_local DropScope* innermost;
  const ServerCall* const call_;
  DropScope* const outer_;
  std::unique_ptr<ServerCall> dropped_;
};

thread_local DropScope* DropScope::innermost = nullptr;

// The executor's task for a call: one that is not run when it dies ends as INTERNAL. One pointer, so that it fits
// into an AnyInvocable without allocation.
class ServerCall::HandlerToken {
 public:
  explicit HandlerToken(std::unique_ptr<ServerCall> call) : call_(std::move(call)) {}
  HandlerToken(HandlerToken&&) noexcept = default;
  ~HandlerToken() {
    if (call_ != nullptr) call_.release()->Drop();
  }

  void operator()(absl::Status admitted) { ServerCall::RunBlocking(std::move(call_), std::move(admitted)); }

 private:
  std::unique_ptr<ServerCall> call_;
};

ServerCall::ServerCall(const Method* method, uint32_t method_index, std::shared_ptr<LoopGate> gate,
                       CallMessages messages)
    : method_(method), method_index_(method_index), gate_(std::move(gate)) {
  Equip(std::move(messages));
}

void ServerCall::Equip(CallMessages messages) {
  messages_ = std::move(messages);
  if (messages_.request == nullptr) messages_ = {method_->new_request(), method_->new_reply()};
}

void ServerCall::Strip() {
  ForgetCall();
  request_bytes_ = 0;
  messages_ = CallMessages();
}

void ServerCall::OpenStream(std::shared_ptr<MessageStream> stream) {
  context_.stream_ = stream;
  stream->Attach(this);
  stream->OpenWrites();
}

absl::Status ServerCall::Intercept(const ServerInterceptors& makers, const std::string& method) {
  std::shared_ptr<InterceptorChain<ServerContext>> chain = std::move(chain_);
  if (chain == nullptr) chain = std::make_shared<InterceptorChain<ServerContext>>();
  absl::Status gathered = chain->Gather(makers, {method, method_->kind});
  if (!gathered.ok() || chain->empty()) {
    chain_ = std::move(chain);
    return gathered;
  }
  if (absl::Status started = chain->Start(context_); !started.ok()) return started;
  if (!ClientStreams(method_->kind)) chain->OnReceived(*messages_.request);
  if (stream() != nullptr) stream()->set_observer(chain);
  chain_ = std::move(chain);
  return absl::OkStatus();
}

void ServerCall::EndChain(bool answered) {
  std::shared_ptr<InterceptorChain<ServerContext>> chain = std::move(chain_);
  if (answered && status_.ok() && !ServerStreams(method_->kind)) chain->OnSend(*messages_.reply);
  chain->End(context_, status_);
  if (method_->kind == MethodKind::kUnary) chain_ = std::move(chain);  // Nobody else has a share.
}

// A stream is attached while its call has a connection.
uint64_t ServerCall::SendMessage(const StreamHeader& header, transport::PayloadSource* payload, absl::Cord attachment,
                                 bool may_leave) {
  const Metadata none;
  const bool first = header.number == 0;
  if (first) initial_has_left_ = InitialMetadataFits();
  return connection_->SendStreamMessage(local_, header,
                                        first && initial_has_left_ ? context_.FixInitialMetadata() : none, payload,
                                        std::move(attachment), may_leave, context_.stream_);
}

// If not, the response says so.
bool ServerCall::InitialMetadataFits() {
  const size_t room = connection_->header_room() - kResponseHeaderRoomMin;
  return CheckMetadataBytes("initial metadata", context_.FixInitialMetadata().bytes(), room).ok();
}

void ServerCall::SendInitialMetadata() {
  initial_was_said_ = InitialMetadataFits();
  if (!initial_was_said_) return;
  connection_->SendOfStream(MessageKind::kInitialMetadata, local_, {}, context_.FixInitialMetadata());
}

void ServerCall::SendEnd(uint64_t count) { connection_->SendOfStream(MessageKind::kStreamEnd, local_, {count, 0}); }

void ServerCall::SendWindow(uint64_t limit) {
  connection_->SendOfStream(MessageKind::kStreamWindow, local_, {0, limit});
}

void ServerCall::CancelSend(uint64_t send_id) {
  if (connection_ != nullptr) connection_->CancelSend(send_id);
}

void ServerCall::Fail(const absl::Status& status) { connection_->FailStreamLater(local_, status); }

void ServerCall::OnFinished() { connection_->AnswerLater(local_); }

void ServerCall::TakeStreamsEnd() {
  const absl::Status& lost = stream()->lost();
  if (lost.ok()) return;
  if (status_.ok()) status_ = WithCertainty(lost, Certainty::kExecuted);
  if (stream()->leaving() == 0) initial_has_left_ = false;  // It was to go with that message.
}

HandlerQueue::Task ServerCall::RunLater(std::unique_ptr<ServerCall> call) { return HandlerToken(std::move(call)); }

void ServerCall::Refuse(absl::Status why) {
  EndUse();
  SetCertainty(&why, Certainty::kNotSent);
  status_ = std::move(why);
}

void ServerCall::RunBlocking(std::unique_ptr<ServerCall> call, absl::Status admitted) {
  if (!admitted.ok()) {
    call->Refuse(std::move(admitted));
    return LoopGate::ReturnByTask(std::move(call));  // Who found it out may be in the middle of another call.
  }
  if (call->IsCancelled()) {
    Finish(std::move(call), absl::CancelledError("cancelled before its handler ran"));
    return;
  }
  absl::Status status = RunCatching(kHandler, [&call] {
    const HandlerScope handler(&call->context_);
    const Method& method = *call->method_;
    const CallMessages& messages = call->messages_;
    if (method.blocking != nullptr) return method.blocking(&call->context_, *messages.request, messages.reply.get());
    return method.blocking_stream(&call->context_, *messages.request, messages.reply.get(), call->context_.stream_);
  });
  Finish(std::move(call), std::move(status));
}

void ServerCall::Run(std::unique_ptr<ServerCall> call) {
  // After the responder has been called, the call is no longer ours: only what stands on this stack is used.
  ServerCall* const running = call.get();
  DropScope scope(running);
  absl::Status status = RunCatching(kHandler, [running, &call] {
    const HandlerScope handler(&running->context_);
    const Method& method = *running->method_;
    const CallMessages& messages = running->messages_;
    Responder done(call.release());
    if (method.callback != nullptr) {
      method.callback(&running->context_, *messages.request, messages.reply.get(), std::move(done));
    } else {
      method.callback_stream(&running->context_, *messages.request, messages.reply.get(), running->context_.stream_,
                             std::move(done));
    }
    return absl::OkStatus();
  });
  std::unique_ptr<ServerCall> dropped = scope.TakeDropped();
  if (dropped == nullptr) return;
  Finish(std::move(dropped), status.ok() ? absl::InternalError(kDropped) : std::move(status));
}

void ServerCall::MarkCancelled() {
  const CallbackScope scope(gate_.get());
  context_.signal_.Cancel();
}

// The handler, and what else of the user's has seen its context, is done with it.
inline void ServerCall::EndUse() {
  HandlerScope::Forget(&context_);
  context_.signal_.Finish();
  if (context_.arriving_ != nullptr) context_.arriving_->Close();
}

void ServerCall::Finish(std::unique_ptr<ServerCall> call, absl::Status status) {
  call->EndUse();
  SetCertainty(&status, Certainty::kExecuted);
  call->status_ = std::move(status);
  LoopGate::Return(std::move(call));
}

void ServerCall::Finish(absl::Status status) { Finish(std::unique_ptr<ServerCall>(this), std::move(status)); }

void ServerCall::Drop() {
  std::unique_ptr<ServerCall> self(this);
  if (!DropScope::Catch(self)) Finish(std::move(self), absl::InternalError(kDropped));
}

void ServerCall::FitSomeMetadata(size_t room) {
  if (initial_has_left_) context_.response_metadata_.initial.Clear();
  if (response_metadata().empty()) return;
  const absl::Status fits = CheckMetadataRoom(response_metadata(), room);
  if (fits.ok()) return;
  // Said already, it is repeated only where that costs nothing.
  if (initial_was_said_ && CheckMetadataRoom({{}, response_metadata().trailing}, room).ok()) {
    return context_.response_metadata_.initial.Clear();
  }
  context_.response_metadata_.Clear();
  status_ = absl::ResourceExhaustedError(status_.ok() ? std::string(fits.message())
                                                      : absl::StrCat(fits.message(), "; but for that, the status is ",
                                                                     absl::StatusCodeToString(status_.code()), ": ",
                                                                     status_.message()));
  SetCertainty(&status_, Certainty::kExecuted);
}

void ServerCall::ForgetArriving() { context_.arriving_ = arriving_ = nullptr; }

void ServerCall::WriteTo(std::byte* to) {
  WriteMeasured(*messages_.reply, to);
  if (has_large_request()) connection_->KeepMessages(*this);
}

}  // namespace verbena::rpc
