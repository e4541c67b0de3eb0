#include "rpc/client_connection.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <utility>

#include "absl/strings/str_cat.h"
#include "rpc/certainty.h"
#include "rpc/core/load_field.h"
#include "rpc/core/message_kind.h"
#include "rpc/core/metadata_codec.h"
#include "rpc/core/status_codec.h"
#include "rpc/executor/callback_scope.h"
#include "transport/loop_handle.h"

namespace verbena::rpc {
namespace {

ClientSessionOptions SessionOptionsOf(const ChannelOptions& options, bool waits_for_connection) {
  ClientSessionOptions session;
  session.waits_for_connection = waits_for_connection;
  session.calls_max = options.calls_in_flight_max;
  session.message_bytes_max = options.transport.message_bytes_max;
  session.connect_timeout = options.connect_timeout;
  return session;
}

}  // namespace

// For what may come when the connection is gone: a connect attempt that answers, a task. Thread: the loop's.
class ClientConnection::Handle {
 public:
  explicit Handle(ClientConnection* connection) : connection_(connection) {}

  ClientConnection* connection() const { return connection_; }  // Null: gone.
  void Detach() { connection_ = nullptr; }

 private:
  ClientConnection* connection_;
};

ClientConnection::ClientConnection(Network* network, std::string address,
                                   std::shared_ptr<const ChannelOptions> channel_options, transport::EventLoop* loop,
                                   std::shared_ptr<ClientCallPool> calls, Observer* observer, const Options& options)
    : network_(*network),
      address_(std::move(address)),
      options_(std::move(channel_options)),
      policy_(options.authentication),
      observer_(*observer),
      handle_(std::make_shared<Handle>(this)),
      loop_(*loop),
      pool_(std::move(calls)),
      waits_for_connection_(options.waits_for_connection),
      session_(SessionOptionsOf(*options_, options.waits_for_connection)),
      timer_(loop, this),
      reconnect_(ReconnectOptions(), options.seed),
      connects_ahead_(options_->connect_ahead) {}

ClientConnection::~ClientConnection() {
  if (!shut_down_) handle_->Detach();
  for (ClientCall* const call : calls_) {
    if (call != nullptr) pool_->Return(*call);
  }
}

inline ClientCall& ClientConnection::MakeCallOf(uint64_t call_id) {
  const uint32_t index = CallIndex(call_id);
  if (index >= calls_.size()) GrowCalls(index + size_t{1});
  ClientCall*& call = calls_[index];
  if (call == nullptr) call = &pool_->Take(this);
  return *call;
}

void ClientConnection::GrowCalls(size_t count) { calls_.resize(count); }

void ClientConnection::Start(UserCall&& call) {
  if (shut_down_) return FailLater(std::move(call), absl::CancelledError("the channel is being destroyed"));
  if (ClientCallBinding::IsCancelled(*call.context)) {
    return FailLater(std::move(call), absl::CancelledError("the call was cancelled before it was made"));
  }
  const absl::Time now = loop_.Now();
  if (call.deadline <= now) return FailLater(std::move(call), ClientSession::DeadlineStatus());
  const bool waits_for_ready = ClientCallBinding::WaitsForReady(*call.context);
  if (link_ == nullptr) {
    absl::Status chance = CheckChance(now, waits_for_ready);
    if (!chance.ok()) return FailLater(std::move(call), std::move(chance));
  }
  const std::optional<ClientSession::Started> started = session_.Start(call.deadline, now, waits_for_ready);
  if (!started.has_value()) {
    return FailLater(std::move(call),
                     absl::ResourceExhaustedError(
                         absl::StrCat(options_->calls_in_flight_max, " calls are in flight (calls_in_flight_max)")));
  }
  const uint64_t call_id = started->call_id;
  ClientCall& made = MakeCallOf(call_id);
  const bool cancelled = ClientCallBinding::Bind(*call.context, pool_->canceller(), made.Renew(call_id));
  made.Begin(std::move(call));
  if (cancelled) {
    GiveUpLater(call_id, made, absl::CancelledError("the caller cancelled the call"));
  } else if (started->send_now) {
    SendRequest(call_id, made);
  } else {
    made.KeepRequest();
  }
  Settle();
}

void ClientConnection::CancelCall(uint64_t call_id, absl::string_view reason) {
  session_.Fail(call_id, absl::CancelledError(reason), loop_.Now());
  Settle();
}

// Not at once: a caller who tries again in `done` would never come to an end.
void ClientConnection::FailLater(UserCall call, absl::Status status) {
  auto router = call.router == nullptr ? nullptr : call.router->Share();
  loop_.Post([router = std::move(router), call = std::make_unique<UserCall>(std::move(call)),
              status = WithCertainty(std::move(status), Certainty::kNotSent)]() mutable {
    const CallbackScope scope(call.get());
    if (router != nullptr && router->OnAttemptEnded(*call, status)) return;
    FinishCall(std::move(*call), std::move(status), MessageStream::Unread::kDrop);
  });
}

void ClientConnection::FailCallLater(uint64_t call_id, absl::Status status) {
  loop_.Post([handle = handle_, call_id, status = std::move(status)] {
    if (handle->connection() == nullptr) return;
    handle->connection()->FailStream(call_id, status);
    handle->connection()->Settle();
  });
}

void ClientConnection::SettleNow() {
  if (settling_) return;
  const CallbackScope scope(this);  // Completions run in here, whatever it follows.
  settling_ = true;
  while (session_.has_actions()) {
    if (std::optional<ClientSession::Action> action = session_.NextAction()) Perform(*std::move(action));
  }
  settling_ = false;
  NoteCalls();
  if (shut_down_ || !StateDue()) return;
  CloseIfUnused();
  ConnectIfDue();
  ReportConnectivity();
  SetTimer();
}

void ClientConnection::SetWanted(bool wanted) {
  wanted_ = wanted;
  if (!wanted) ForgetConnect();
  Settle();
}

void ClientConnection::Perform(ClientSession::Action&& action) {
  ClientCall* const found = FindCall(action.call_id);
  if (found == nullptr) {  // It ended while a completion of another ran the loop.
    assert(action.kind != ClientSession::ActionKind::kComplete);
    return;
  }
  ClientCall& call = *found;
  switch (action.kind) {
    case ClientSession::ActionKind::kSend:
      SendRequest(action.call_id, call);
      return;
    case ClientSession::ActionKind::kCancelSend:
      if (call.link() != nullptr) call.link()->CancelSend(call.send_id());
      return;
    case ClientSession::ActionKind::kTellCancelled:
      if (call.link() != nullptr) call.link()->SendCancel(action.call_id);
      return;
    case ClientSession::ActionKind::kCancelFetch:
      if (call.link() != nullptr) call.link()->CancelFetch(action.call_id);
      return;
    case ClientSession::ActionKind::kComplete:
      End(action.call_id, call.Take(), call.link(), std::move(action.status), MessageStream::Unread::kDrop);
      return;
  }
}

void ClientConnection::End(uint64_t call_id, UserCall&& call, ClientLink* link, absl::Status status,
                           MessageStream::Unread unread) {
  if (call.stream != nullptr && call.stream->fetching() && link != nullptr) link->CancelFetch(call_id);
  if (call.router != nullptr && call.router->OnAttemptEnded(call, status)) return;
  FinishCall(std::move(call), std::move(status), unread);
}

[[gnu::always_inline]] inline void ClientConnection::SendRequest(uint64_t call_id, ClientCall& call) {
  absl::Status sent = TrySendRequest(call_id, call);
  if (!sent.ok()) GiveUpLater(call_id, call, std::move(sent));
}

// It has not been sent.
void ClientConnection::GiveUpLater(uint64_t call_id, ClientCall& call, absl::Status why) {
  if (!session_.Drop(call_id)) return;  // Its end follows.
  call.OnLinkGone();                    // Of a stream: the one that it was to leave on before.
  FailLater(call.Take(), std::move(why));
}

[[gnu::always_inline]] inline absl::Status ClientConnection::TrySendRequest(uint64_t call_id, ClientCall& call) {
  if (link_ == nullptr) return absl::UnavailableError("the connection went before the request was sent");
  const UserCall& user = call.user();
  if (user.request != nullptr && !user.request->IsInitialized()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the request lacks required fields: ", user.request->InitializationErrorString()));
  }
  call.Measure();
  const absl::Cord& attachment = ClientCallBinding::RequestAttachment(*user.context);
  if (ClientStreams(user.kind) && !attachment.empty()) {
    return absl::InvalidArgumentError("a stream of requests has its attachments beside its messages");
  }
  if (const uint64_t most = options_->transport.message_bytes_max; !MessageFits(call.size(), attachment.size(), most)) {
    return TooManyMessageBytes("request", call.size(), attachment.size(), most);
  }

  RequestHeader header;
  header.kind = user.kind;
  header.method = user.method;
  header.body_bytes = call.size();
  if (user.deadline != absl::InfiniteFuture()) {
    const absl::Duration left = user.deadline - loop_.Now();
    if (left <= absl::ZeroDuration()) return ClientSession::DeadlineStatus();
    header.timeout_ns = std::max<int64_t>(absl::ToInt64Nanoseconds(left), 1);  // Zero would be no limit.
  }
  std::array<std::byte, kRequestHeaderRoomMax> room;
  const bool known = user.method.data() == last_method_.data() && user.method.size() == last_method_.size();
  const absl::StatusOr<size_t> header_bytes =
      EncodeRequest(header, ClientCallBinding::RequestMetadata(*user.context),
                    absl::MakeSpan(room).first(std::min(room.size(), link_->header_bytes_max())),
                    known ? user.method : absl::string_view());
  if (!header_bytes.ok()) return header_bytes.status();
  last_method_ = user.method;

  transport::OutboundMessage message;
  message.kind = static_cast<uint8_t>(MessageKind::kRequest);
  message.call_id = call_id;
  message.header = absl::MakeConstSpan(room).first(*header_bytes);
  // Where the client streams its writes begin then; where many calls are in flight their places come free by it.
  message.awaited = user.request == nullptr || session_.crowded();
  message.leaves_unreported = message.ends_burst = user.kind == MethodKind::kUnary;
  message.refusable = true;
  if (user.request != nullptr) message.payload = &call;
  if (!attachment.empty()) message.attachment = attachment;
  const uint64_t send_id = link_->SendRequest(call_id, std::move(message));
  call.OnSend(link_, send_id);
  if (send_id == transport::Connection::kLeft) {
    session_.OnLeft(call_id);  // A unary call: no writes begin by it.
  } else {
    call.KeepRequest();
  }
  return absl::OkStatus();
}

void ClientConnection::OnResponse(ClientSession::Epoch epoch, const transport::MessageHead& head,
                                  transport::ReceivedPayload& payload) {
  ClientCall* const found = FindCall(head.call_id);
  if (found != nullptr && found->user().stream != nullptr) {
    if (HasDroppedStream(epoch, head.call_id)) return HearLoadOf(head);
    if (HoldResponse(epoch, head)) return;
  }
  const ClientSession::ResponseEffect effect = session_.OnResponse(epoch, head.call_id);
  if (effect == ClientSession::ResponseEffect::kNone) return HearLoadOf(head);
  ClientCall& call = *found;
  absl::Status status = ReadResponse(head, payload, call.user());
  constexpr auto kUnread = MessageStream::Unread::kKeep;
  if (call.user().stream != nullptr) {
    return End(head.call_id, call.Take(), call.link(), std::move(status), kUnread);
  }
  if (effect == ClientSession::ResponseEffect::kEnds) {  // Its memory is nobody's until a completion calls again.
    calls_[CallIndex(head.call_id)] = nullptr;
    pool_->Return(call);
  }
  if (call.user().router != nullptr) return End(head.call_id, call.Take(), call.link(), std::move(status), kUnread);
  FinishCall(std::move(call.TakeInPlace()), std::move(status), kUnread);
}

void ClientConnection::HearLoadOf(const transport::MessageHead& head) {
  const absl::StatusOr<ResponseHeader> header = DecodeResponseHeader(head.header, head.payload_bytes);
  if (header.ok()) HearLoad(header->fields);
}

void ClientConnection::HearLoad(absl::Span<const std::byte> fields) {
  const std::optional<double> load = ReadLoad(fields);
  if (load.has_value()) observer_.OnLoad(*this, *load);
}

[[gnu::always_inline]] inline absl::Status ClientConnection::ReadResponse(const transport::MessageHead& head,
                                                                          transport::ReceivedPayload& payload,
                                                                          const UserCall& call) {
  const absl::StatusOr<ResponseHeader> decoded = DecodeResponseHeader(head.header, head.payload_bytes);
  if (!decoded.ok()) {
    return absl::InternalError(absl::StrCat("the server's response is malformed: ", decoded.status().message()));
  }
  const ResponseHeader& header = *decoded;
  if (head.payload_bytes > options_->transport.message_bytes_max) {
    return WithCertainty(absl::ResourceExhaustedError(absl::StrCat(
                             "the response has ", head.payload_bytes,
                             " bytes; the client takes message_bytes_max = ", options_->transport.message_bytes_max)),
                         Certainty::kExecuted);
  }
  HearLoad(header.fields);
  ResponseMetadata& metadata = ClientCallBinding::ResponseMetadataOf(*call.context);
  if (call.stream != nullptr && call.stream->has_initial_metadata()) {
    ReadMetadata(header.fields, HeaderFieldType::kMetadata, &metadata.trailing);  // The user may look at the other.
  } else {
    DecodeMetadata(header, &metadata);
  }
  absl::Status status = DecodeStatus(header);
  if (status.ok() && ServerStreams(call.kind) && !call.stream->complete()) {
    status =
        WithCertainty(absl::InternalError("the server answered before it had ended its stream"), Certainty::kExecuted);
  }
  if (status.ok() && call.reply != nullptr && !ParseMessage(payload.bytes().first(header.body_bytes), call.reply)) {
    status = WithCertainty(absl::InternalError("the response's bytes are not the method's reply message"),
                           Certainty::kExecuted);
  }
  if (head.payload_bytes > header.body_bytes) {
    ClientCallBinding::SetResponseAttachment(*call.context, payload.Share(header.body_bytes));
  }
  return status;
}

void ClientConnection::ConnectIfDue() {
  if (!wants_connection() || !reconnect_.ShouldConnect(loop_.Now())) return;
  reconnect_.BeginConnect();
  network_.Connect(
      address_, options_->transport, &loop_,
      [handle = handle_](absl::StatusOr<std::unique_ptr<transport::Connection>> connection) {
        if (handle->connection() != nullptr) handle->connection()->OnConnectDone(std::move(connection));
      },
      policy_);
}

void ClientConnection::SetTimer() {
  absl::Time next = session_.NextDeadline();
  if (wants_connection()) next = std::min(next, reconnect_.NextAttempt());
  if (link_ != nullptr && unused_) {
    next = std::min(next, unused_since_ + options_->idle_timeout);
    watches_idleness_ = true;
  }
  timer_.SetBy(next);
}

void ClientConnection::OnTime() {
  watches_idleness_ = false;
  session_.OnTime(loop_.Due());
  Settle();
}

void ClientConnection::Shutdown(absl::string_view reason) {
  shut_down_ = true;
  timer_.Cancel();
  session_.Shutdown(reason);
  link_ = nullptr;
  links_.clear();  // No call-back comes from them any more, and nothing reads the requests.
  for (ClientCall* const call : calls_) {
    if (call != nullptr) call->OnLinkGone();
  }
  Settle();
  handle_->Detach();
}

void ClientConnection::Publish(std::string state) {
  const std::lock_guard lock(mu_);
  state_ = std::move(state);
}

std::string ClientConnection::DescribeState() const {
  const std::lock_guard lock(mu_);
  return absl::StrCat(state_, ", ", calls_in_flight(), " calls in flight");
}

}  // namespace verbena::rpc
