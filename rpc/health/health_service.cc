#include "rpc/health/health_service.h"

#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "rpc/server_context.h"

namespace verbena {

using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;
using grpc::health::v1::HealthListRequest;
using grpc::health::v1::HealthListResponse;

// One watch. It holds one message, the one on its way, and what to say next: a slow reader makes nothing grow.
//
// Owner: itself, until its call is over. Who takes it out of `watchers_` finishes it; till then it is there.
class HealthService::Watcher final : public ServerWriteReactor<HealthCheckResponse> {
 public:
  Watcher(HealthService* health, std::string service) : health_(*health), service_(std::move(service)) {}

  const std::string& service() const { return service_; }

  // With health_.mu_.
  void Tell(ServingStatus status) {
    latest_ = status;
    if (!writing_) WriteLatest();
  }

  void OnWriteDone(bool ok) override {
    if (!ok) return health_.End(this);
    const std::lock_guard lock(health_.mu_);
    writing_ = false;
    WriteLatest();
  }
  void OnDone() override { delete this; }

 private:
  void WriteLatest() {
    if (written_ == latest_) return;
    writing_ = true;
    written_ = latest_;
    message_.set_status(latest_);
    StartWrite(&message_);
  }

  HealthService& health_;
  const std::string service_;

  // Guarded by health_.mu_.
  ServingStatus latest_ = HealthCheckResponse::SERVICE_UNKNOWN;
  std::optional<ServingStatus> written_;
  bool writing_ = false;
  HealthCheckResponse message_;  // The runtime's while writing_.
};

namespace {

absl::Status ServerDrains() { return absl::UnavailableError("the server drains"); }

}  // namespace

HealthService::HealthService() { SetServingStatus("", HealthCheckResponse::SERVING); }

HealthService::~HealthService() = default;

void HealthService::SetServingStatus(absl::string_view service, ServingStatus status) {
  const std::lock_guard lock(mu_);
  if (!shut_down_) Set(service, status);
}

void HealthService::SetServingStatusForAll(ServingStatus status) {
  const std::lock_guard lock(mu_);
  if (!shut_down_) SetAll(status);
}

void HealthService::Shutdown() {
  const std::lock_guard lock(mu_);
  shut_down_ = true;
  SetAll(HealthCheckResponse::NOT_SERVING);
}

void HealthService::OnServerDrain() {
  Shutdown();
  std::map<std::string, std::set<Watcher*>, std::less<>> watchers;
  {
    const std::lock_guard lock(mu_);
    draining_ = true;
    watchers.swap(watchers_);
  }
  for (const auto& [service, of_service] : watchers) {
    for (Watcher* watcher : of_service) watcher->Finish(ServerDrains());  // What it has begun to write still leaves.
  }
}

void HealthService::Set(absl::string_view service, ServingStatus status) {
  if (status == HealthCheckResponse::SERVICE_UNKNOWN) {
    const auto known = statuses_.find(service);
    if (known != statuses_.end()) statuses_.erase(known);
  } else {
    statuses_.insert_or_assign(std::string(service), status);
  }
  const auto watchers = watchers_.find(service);
  if (watchers == watchers_.end()) return;
  for (Watcher* watcher : watchers->second) watcher->Tell(status);
}

void HealthService::SetAll(ServingStatus status) {
  std::vector<std::string> services;
  for (const auto& [service, present] : statuses_) services.push_back(service);
  for (const std::string& service : services) Set(service, status);
}

HealthService::ServingStatus HealthService::StatusOf(absl::string_view service) const {
  const auto known = statuses_.find(service);
  return known == statuses_.end() ? HealthCheckResponse::SERVICE_UNKNOWN : known->second;
}

void HealthService::Check(ServerContext*, const HealthCheckRequest* request, HealthCheckResponse* reply,
                          Responder done) {
  {
    const std::lock_guard lock(mu_);
    reply->set_status(StatusOf(request->service()));
  }
  if (reply->status() != HealthCheckResponse::SERVICE_UNKNOWN) return done(absl::OkStatus());
  done(absl::NotFoundError(absl::StrCat("the health of \"", request->service(), "\" is not known to this server")));
}

void HealthService::List(ServerContext*, const HealthListRequest*, HealthListResponse* reply, Responder done) {
  {
    const std::lock_guard lock(mu_);
    for (const auto& [service, status] : statuses_) (*reply->mutable_statuses())[service].set_status(status);
  }
  done(absl::OkStatus());
}

ServerWriteReactor<HealthCheckResponse>* HealthService::Watch(ServerContext* context,
                                                              const HealthCheckRequest* request) {
  auto* const watcher = new Watcher(this, request->service());
  bool draining;
  {
    const std::lock_guard lock(mu_);
    draining = draining_;
    if (!draining) watchers_[watcher->service()].insert(watcher);
    watcher->Tell(StatusOf(watcher->service()));
  }
  if (draining) {
    watcher->Finish(ServerDrains());
  } else {
    context->SetCancelCallback([this, watcher] { End(watcher); });
  }
  return watcher;
}

void HealthService::End(Watcher* watcher) {
  {
    const std::lock_guard lock(mu_);
    const auto of_service = watchers_.find(watcher->service());
    if (of_service == watchers_.end() || of_service->second.erase(watcher) == 0) return;
    if (of_service->second.empty()) watchers_.erase(of_service);
  }
  watcher->Finish(absl::CancelledError("nobody watches any more"));
}

}  // namespace verbena
