// gRPC's health service: tells those who ask (balancers, orchestrators, `verbena health`) which services take calls.
//
//   verbena::HealthService health;
//   builder.RegisterService(&greeter).RegisterService(&health);
//   …
//   health.SetServingStatus("demo.Greeter", verbena::HealthService::Status::SERVING);
//
// The service "" is the server as a whole, and SERVING from the beginning. When the server drains, all is NOT_SERVING
// for good, and watches end as UNAVAILABLE. A drain waits for no reader: one to whom something else is still under way,
// as to one who is behind, may learn the end alone.
//
// Owner: the user; registered with one server, which it outlives. Thread: any.

#ifndef VERBENA_RPC_HEALTH_HEALTH_SERVICE_H_
#define VERBENA_RPC_HEALTH_HEALTH_SERVICE_H_

#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "rpc/health/health.verbena.h"

namespace verbena {

class HealthService final : public grpc::health::v1::Health::CallbackService {
 public:
  using Status = grpc::health::v1::HealthCheckResponse;  // Status::SERVING, Status::NOT_SERVING …
  using ServingStatus = Status::ServingStatus;

  HealthService();
  ~HealthService() override;

  // `service` need not be registered with the server, nor even exist. SERVICE_UNKNOWN: forgets it. After Shutdown
  // nothing changes any more.
  void SetServingStatus(absl::string_view service, ServingStatus status);
  // Of every service that has a status, "" included.
  void SetServingStatusForAll(ServingStatus status);
  // All is NOT_SERVING, for good: for servers that say so some time before they drain. Watches go on.
  void Shutdown();

  void OnServerDrain() override;

 private:
  class Watcher;

  void Check(ServerContext* context, const grpc::health::v1::HealthCheckRequest* request,
             grpc::health::v1::HealthCheckResponse* reply, Responder done) override;
  void List(ServerContext* context, const grpc::health::v1::HealthListRequest* request,
            grpc::health::v1::HealthListResponse* reply, Responder done) override;
  ServerWriteReactor<grpc::health::v1::HealthCheckResponse>* Watch(
      ServerContext* context, const grpc::health::v1::HealthCheckRequest* request) override;

  void Set(absl::string_view service, ServingStatus status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void SetAll(ServingStatus status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  ServingStatus StatusOf(absl::string_view service) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Ends the watch unless somebody has ended it. Not with mu_: to finish may wait for a cancel callback that wants it.
  void End(Watcher* watcher);

  std::mutex mu_;
  std::map<std::string, ServingStatus, std::less<>> statuses_ ABSL_GUARDED_BY(mu_);       // None is SERVICE_UNKNOWN.
  std::map<std::string, std::set<Watcher*>, std::less<>> watchers_ ABSL_GUARDED_BY(mu_);  // Whose watch is not ended.
  bool shut_down_ ABSL_GUARDED_BY(mu_) = false;
  bool draining_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace verbena

#endif  // VERBENA_RPC_HEALTH_HEALTH_SERVICE_H_
