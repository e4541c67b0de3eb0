#include "rpc/health_watches.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/printable.h"
#include "google/protobuf/wrappers.pb.h"
#include "rpc/client_context.h"
#include "rpc/message_stream.h"
#include "rpc/user_call.h"
#include "transport/log.h"

namespace verbena::rpc {
namespace {

constexpr absl::string_view kMethod = "grpc.health.v1.Health/Watch";

// The protocol's messages have one field each, of number 1: HealthCheckRequest the service's name, HealthCheckResponse
// the status. On the wire that is what these are.
using Request = google::protobuf::StringValue;
using Response = google::protobuf::Int32Value;
constexpr int kServing = 1;  // HealthCheckResponse.SERVING

// For the log: the words may be the server's.
std::string WhyEnded(const absl::Status& status) {
  if (status.ok()) return "the server ended the watch";
  return absl::StrCat(absl::StatusCodeToString(status.code()), ": ", Printable(status.message()));
}

}  // namespace

// One call. Lives until it has ended, which may be after its owner.
class HealthWatches::Attempt : public std::enable_shared_from_this<Attempt> {
 public:
  Attempt(HealthWatches* owner, ClientConnection* connection) : owner_(owner), connection_(*connection) {
    request_.set_value(owner->service_);
  }

  void Start() {
    stream_ = std::make_shared<MessageStream>(owner_->handle_, StreamOptions());
    UserCall call;
    call.method = kMethod;
    call.kind = MethodKind::kServerStreaming;
    call.context = &context_;
    call.request = &request_;
    call.stream = stream_;
    call.done = [self = shared_from_this()](absl::Status status) {
      if (self->owner_ != nullptr) self->owner_->OnEnd(self->connection_, status);
    };
    Read();
    connection_.Start(std::move(call));
  }
  // Nobody is told anything any more.
  void Cancel() {
    owner_ = nullptr;
    context_.TryCancel();
  }

 private:
  void Read() {
    stream_->Read(&response_, nullptr, [self = shared_from_this()](absl::Status status) {
      if (!status.ok() || self->owner_ == nullptr) return;  // The call's end says why.
      self->owner_->OnSaid(self->connection_, self->response_.value() == kServing);
      if (self->owner_ != nullptr) self->Read();
    });
  }

  HealthWatches* owner_;  // Null: cancelled.
  ClientConnection& connection_;
  ClientContext context_;
  Request request_;
  Response response_;
  std::shared_ptr<MessageStream> stream_;
};

// What is known of one connection.
struct HealthWatches::Watch {
  explicit Watch(transport::EventLoop* loop) : loop(*loop) {}
  ~Watch() {
    loop.CancelTimer(retry_timer);
    if (attempt != nullptr) attempt->Cancel();
  }

  transport::EventLoop& loop;
  Health health = Health::kUnknown;
  bool complained = false;  // In the log, that it is not to be had, since it last was.
  std::shared_ptr<Attempt> attempt;
  transport::TimerId retry_timer = 0;
};

HealthWatches::HealthWatches(std::string service, transport::EventLoop* loop,
                             std::shared_ptr<transport::LoopHandle> handle,
                             std::function<void(ClientConnection&)> changed)
    : service_(std::move(service)), loop_(*loop), handle_(std::move(handle)), changed_(std::move(changed)) {}

HealthWatches::~HealthWatches() = default;

void HealthWatches::OnConnectivity(ClientConnection& connection) {
  if (connection.connectivity() != ConnectivityState::kReady) return Forget(connection);
  if (watches_.contains(&connection)) return;
  watches_.emplace(&connection, std::make_unique<Watch>(&loop_));
  Begin(connection);
}

void HealthWatches::Forget(const ClientConnection& connection) { watches_.erase(&connection); }

HealthWatches::Health HealthWatches::Of(const std::vector<std::shared_ptr<ClientConnection>>& connections) const {
  Health most = Health::kUnknown;
  for (const auto& connection : connections) {
    const auto watch = watches_.find(connection.get());
    if (watch != watches_.end()) most = std::max(most, watch->second->health);
  }
  return most;
}

void HealthWatches::Begin(ClientConnection& connection) {
  const auto attempt = std::make_shared<Attempt>(this, &connection);
  Watch& watch = *watches_.at(&connection);
  watch.retry_timer = 0;
  watch.attempt = attempt;
  attempt->Start();
}

void HealthWatches::OnSaid(ClientConnection& connection, bool serving) {
  Watch& watch = *watches_.at(&connection);
  watch.health = serving ? Health::kServing : Health::kNotServing;
  watch.complained = false;
  changed_(connection);
}

void HealthWatches::OnEnd(ClientConnection& connection, const absl::Status& status) {
  Watch& watch = *watches_.at(&connection);
  watch.attempt = nullptr;
  watch.health = absl::IsUnimplemented(status) ? Health::kServing : Health::kNotServing;
  if (watch.health == Health::kNotServing) {
    // That a server drains or a connection is lost is said elsewhere.
    if (!absl::IsUnavailable(status) && !std::exchange(watch.complained, true)) {
      Log(Severity::kWarning, absl::StrCat("the health of ", service_.empty() ? "the server" : service_, " at ",
                                           connection.address(), " is not to be had: ", WhyEnded(status)));
    }
    watch.retry_timer = loop_.AddTimer(loop_.Now() + kRetryDelay, [this, &connection] { Begin(connection); });
  }
  changed_(connection);
}

}  // namespace verbena::rpc
