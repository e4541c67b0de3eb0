#include "rpc/names/etcd_registration.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "rpc/core/reconnect.h"
#include "rpc/names/background_task.h"
#include "rpc/names/etcd_client.h"
#include "rpc/names/host_port.h"
#include "transport/run_logging.h"

namespace verbena::rpc {
namespace {

constexpr absl::Duration kTtlMin = absl::Seconds(2);
constexpr absl::Duration kTtlMax = absl::Hours(1);
constexpr absl::Duration kRevokeTimeout = absl::Seconds(1);

class RegistrationTask final : public BackgroundTask {
 public:
  RegistrationTask(EtcdPlace place, const ServerAddress& server, EtcdRegistration::Watcher watcher,
                   const EtcdRegistrationOptions& options)
      : key_(absl::StrCat(place.prefix, server.text)),
        value_(FormatEtcdValue(server)),
        ttl_(options.ttl),
        client_(std::move(place.endpoints), ttl_ / 3, this),
        watcher_(std::move(watcher)),
        // One renewal that went well is proof enough: after it the first failure is followed by an attempt at once.
        retry_({.delay_min = ttl_ / 20, .delay_max = ttl_ / 3, .stable_after = ttl_ / 6}, options.seed) {}

  void Run() override {
    while (!stopping()) {
      retry_.BeginConnect();
      const absl::Status status = Renew();
      const absl::Time now = MonotonicNow();
      status.ok() ? retry_.OnConnected(now) : retry_.OnConnectFailed(now);
      Report(status);
      SleepUntil(status.ok() ? now + ttl_ / 3 : retry_.NextAttempt());
      if (status.ok()) retry_.OnLost(MonotonicNow());
    }
    if (lease_ != 0) GiveUpLease();
  }

 private:
  // Keeps the lease alive, or puts the address under another one if there is none (any more).
  absl::Status Renew() {
    if (lease_ != 0) {
      const absl::Status alive = client_.KeepAlive(lease_);
      if (alive.ok()) return PutUnlessThere();
      if (!absl::IsNotFound(alive)) return alive;
      lease_ = 0;
    }
    const absl::StatusOr<int64_t> lease = client_.GrantLease(ttl_);
    if (!lease.ok()) return lease.status();
    lease_ = *lease;
    return client_.Put(key_, value_, lease_);
  }

  // The last Put may have failed, or somebody has taken the entry away though the lease lives: by hand, or with a lease
  // of his own.
  absl::Status PutUnlessThere() {
    const absl::StatusOr<int64_t> lease = client_.LeaseOf(key_);
    if (!lease.ok()) return lease.status();
    return *lease == lease_ ? absl::OkStatus() : client_.Put(key_, value_, lease_);
  }

  // It may be an endpoint that is gone for which this one ends: each is asked, until one has done it.
  void GiveUpLease() {
    EtcdClient client = client_.Unstoppable(kRevokeTimeout / client_.endpoints());
    for (int i = 0; i < client.endpoints() && !client.Revoke(lease_).ok(); ++i) {
    }
  }

  void Report(const absl::Status& status) {
    if (stopping() || watcher_ == nullptr || told_ == status) return;
    told_ = status;
    RunLogging("a registration's watcher", [&] { watcher_(status); });
  }

  const std::string key_;
  const std::string value_;
  const absl::Duration ttl_;
  EtcdClient client_;
  EtcdRegistration::Watcher watcher_;
  Reconnect retry_;
  int64_t lease_ = 0;  // Under which the address is, or may be; 0 = none.
  std::optional<absl::Status> told_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<EtcdRegistration>> EtcdRegistration::Create(absl::string_view uri, ServerAddress server,
                                                                           Watcher watcher,
                                                                           const EtcdRegistrationOptions& options) {
  absl::string_view rest = uri;
  if (!absl::ConsumePrefix(&rest, "etcd://")) {
    return absl::InvalidArgumentError(absl::StrCat("\"", uri, "\": write etcd://host:port/prefix"));
  }
  absl::StatusOr<EtcdPlace> place = ParseEtcdPlace(rest);
  if (!place.ok()) return place.status();
  if (const absl::Status status = CheckServerAddress(server.text); !status.ok()) return status;
  if (options.ttl < kTtlMin || options.ttl > kTtlMax || options.ttl != absl::Trunc(options.ttl, absl::Seconds(1))) {
    return absl::InvalidArgumentError(absl::StrCat("EtcdRegistrationOptions: ttl is ",
                                                   absl::FormatDuration(options.ttl),
                                                   "; allowed are 2s to 1h in whole seconds"));
  }
  server.weight = std::clamp(server.weight, uint32_t{1}, kServerWeightMax);
  absl::StatusOr<std::unique_ptr<BackgroundThread>> thread = BackgroundThread::Start(
      std::make_shared<RegistrationTask>(*std::move(place), server, std::move(watcher), options));
  if (!thread.ok()) return thread.status();
  return absl::WrapUnique(new EtcdRegistration(*std::move(thread)));
}

EtcdRegistration::EtcdRegistration(std::unique_ptr<BackgroundThread> thread) : thread_(std::move(thread)) {}

EtcdRegistration::~EtcdRegistration() = default;

}  // namespace verbena::rpc
