#include "rpc/server_loop.h"

#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "rpc/core/status_codec.h"
#include "transport/log.h"

namespace verbena::rpc {
namespace {

// A handler that heeds a cancel has returned by then.
constexpr absl::Duration kSlowEnd = absl::Seconds(1);
// What no call has needed for so long goes, so many call objects at a time: none may hold up the loop for long.
constexpr absl::Duration kUnusedPeriod = absl::Seconds(1);
constexpr size_t kGivenBackMax = 16;

}  // namespace

ServerLoop::ServerLoop(transport::EventLoop* event_loop, const MethodRegistry* methods, HandlerQueue* handlers,
                       const ServerSessionOptions& session_options, const StreamOptions& stream_options,
                       uint32_t calls_max, AccessControl* access, const ServerInterceptors* interceptors)
    : event_loop_(*event_loop),
      methods_(*methods),
      handlers_(handlers),
      interceptors_(interceptors),
      access_(access != nullptr && access->authorizer ? access : nullptr),
      session_options_(session_options),
      stream_options_(stream_options),
      gate_(std::make_shared<LoopGate>(event_loop, this)),
      handle_(std::make_shared<transport::LoopHandle>(event_loop)),
      header_room_(kResponseHeaderRoomMax),
      tally_(calls_max),
      recycled_(methods->size()),
      stripped_(methods->size()),
      kept_messages_(event_loop, methods->size()),
      unused_timer_(event_loop, this),
      overdue_timer_(event_loop, this),
      slow_end_timer_(event_loop, this) {}

std::unique_ptr<ServerCall> ServerLoop::MakeCall(uint32_t method, size_t request_bytes) {
  CallMessages messages;
  if (request_bytes > ServerCall::kSmallMessageBytesMax) messages = kept_messages_.Take(method, request_bytes);
  unused_timer_.SetBy(event_loop_.Now() + kUnusedPeriod);  // It goes on until nothing is left of what is made here.
  if (!stripped_.Has(method)) {
    return std::make_unique<ServerCall>(&methods_.method(method), method, gate_, std::move(messages));
  }
  std::unique_ptr<ServerCall> call = stripped_.Take(method);
  call->Equip(std::move(messages));
  return call;
}

void ServerLoop::GiveBackUnused() {
  recycled_.GiveBackUnused(kGivenBackMax);
  stripped_.GiveBackUnused(kGivenBackMax);
  if (tally_.calls() == 0 && recycled_.empty() && stripped_.empty()) return;
  unused_timer_.SetBy(event_loop_.Now() + kUnusedPeriod);
}

void ServerLoop::RecycleLargeCall(std::unique_ptr<ServerCall> call) {
  KeepMessages(*call);
  call->Strip();
  stripped_.Keep(std::move(call));
}

void ServerLoop::KeepMessages(ServerCall& call) {
  if (!call.has_large_request() || !call.has_messages()) return;
  const size_t reply_bytes = call.ReplyBytes();
  kept_messages_.Keep(call.method_index(), call.TakeMessages(), call.request_bytes(), reply_bytes);
}

void ServerLoop::Accept(std::unique_ptr<transport::Connection> connection) {
  if (aborted_) return;
  auto accepted = std::make_unique<ServerConnection>(this, std::move(connection));
  ServerConnection* const key = accepted.get();
  connections_.emplace(key, std::move(accepted));
  ++open_connections_;
  if (draining_) key->StartDraining();
}

// By a copy: any connection may go while one is told something.
void ServerLoop::TellConnections(void (ServerConnection::*what)()) {
  std::vector<ServerConnection*> connections;
  for (const auto& [connection, owned] : connections_) connections.push_back(connection);
  for (ServerConnection* connection : connections) {
    if (connections_.contains(connection)) (connection->*what)();
  }
}

void ServerLoop::Drain(std::function<void()> done) {
  draining_ = true;
  drained_ = std::move(done);
  TellConnections(&ServerConnection::StartDraining);
  if (connections_.empty() && drained_ != nullptr) std::exchange(drained_, nullptr)();
}

void ServerLoop::Abort() {
  aborted_ = true;
  TellConnections(&ServerConnection::Drop);
}

void ServerLoop::VisitOpenCalls(absl::FunctionRef<void(uint32_t method)> visit) const {
  for (const auto& [connection, owned] : connections_) connection->VisitOpenCalls(visit);
}

void ServerLoop::StartEnd() { slow_end_timer_.SetBy(event_loop_.ReadNow() + kSlowEnd); }

void ServerLoop::ReportSlowEnd() {
  std::map<std::string, size_t> awaited;
  VisitOpenCalls([&](uint32_t method) {
    if (IsBlocking(methods_.method(method)) || methods_.method(method).is_coroutine) {
      ++awaited[methods_.full_name(method)];
    }
  });
  if (awaited.empty()) return;
  const auto append = [](std::string* text, const auto& one) {
    absl::StrAppend(text, one.first, " (", one.second, ")");
  };
  Log(Severity::kWarning, absl::StrCat("the end of the server waits for handlers that have not returned, though their "
                                       "calls were cancelled: ",
                                       absl::StrJoin(awaited, ", ", append)));
}

void ServerLoop::AwaitCoroutines(std::function<void()> done) {
  VisitOpenCalls([this](uint32_t method) { coroutines_awaited_ += methods_.method(method).is_coroutine; });
  if (coroutines_awaited_ == 0) return done();
  coroutines_returned_ = std::move(done);
}

void ServerLoop::OnCallDiscarded(uint32_t method) {
  if (coroutines_awaited_ == 0 || !methods_.method(method).is_coroutine) return;
  if (--coroutines_awaited_ == 0) std::exchange(coroutines_returned_, nullptr)();
}

void ServerLoop::Shut() {
  drained_ = nullptr;
  overdue_timer_.Cancel();
  slow_end_timer_.Cancel();
  unused_timer_.Cancel();
  connections_.clear();  // Detaches the calls that are out, before the gate lets them die.
  kept_messages_.Clear();
  gate_->Shut();
  handle_->Detach();
}

absl::Status ServerLoop::CheckPlace(uint32_t method, ClientId client) const {
  return IsBlocking(methods_.method(method)) ? handlers_->CheckPlace(client) : absl::OkStatus();
}

double ServerLoop::MeasureLoad(absl::Time now) {
  const double calls = static_cast<double>(tally_.calls()) / tally_.shares.calls_max();
  const double threads = handlers_ == nullptr ? 0 : handlers_->busy();
  return std::max(load_.Add(std::max(calls, threads), now), said_load_.load(std::memory_order_relaxed));
}

void ServerLoop::RefuseOverdue() { overdue_timer_.SetBy(handlers_->RefuseOverdue()); }

void ServerLoop::OnCallFinished(std::unique_ptr<ServerCall> call) {
  if (ServerConnection* const connection = call->connection()) {
    connection->OnCallFinished(std::move(call));
  }
}

void ServerLoop::OnConnectionIdle(ServerConnection* connection) {
  connections_.erase(connection);
  if (connections_.empty() && drained_ != nullptr) std::exchange(drained_, nullptr)();
}

}  // namespace verbena::rpc
