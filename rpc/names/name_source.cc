#include "rpc/names/name_source.h"

#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "rpc/names/background_task.h"
#include "rpc/names/dns_lookup.h"
#include "rpc/names/etcd_lookup.h"
#include "rpc/names/file_lookup.h"
#include "rpc/names/host_port.h"
#include "rpc/names/name_lookup.h"

namespace verbena::rpc {
namespace {

// A list that does not change.
class ListLookup final : public NameLookup {
 public:
  ListLookup(std::vector<ServerAddress> servers, Watcher watcher)
      : NameLookup(std::move(watcher)), servers_(std::move(servers)) {}

  void Run() override { Report(servers_); }

 private:
  const std::vector<ServerAddress> servers_;
};

absl::StatusOr<std::shared_ptr<NameLookup>> MakeLookup(absl::string_view uri, NameSource::Watcher watcher,
                                                       const NameSourceOptions& options) {
  absl::string_view rest = uri;
  if (absl::ConsumePrefix(&rest, "dns://")) return DnsLookup::Create(rest, std::move(watcher), options);
  if (absl::ConsumePrefix(&rest, "file://")) return FileLookup::Create(rest, std::move(watcher), options);
  if (absl::ConsumePrefix(&rest, "etcd://")) return EtcdLookup::Create(rest, std::move(watcher), options);
  absl::ConsumePrefix(&rest, "list:");
  absl::StatusOr<std::vector<ServerAddress>> servers = ParseServerList(rest);
  if (!servers.ok()) return servers.status();
  return std::make_shared<ListLookup>(*std::move(servers), std::move(watcher));
}

absl::Status CheckOptions(const NameSourceOptions& options) {
  for (const auto& [name, value] :
       {std::pair{"dns_interval", options.dns_interval},
        std::pair{"dns_refresh_interval_min", options.dns_refresh_interval_min},
        std::pair{"dns_try_timeout", options.dns_try_timeout}, std::pair{"file_interval", options.file_interval},
        std::pair{"etcd_timeout", options.etcd_timeout}, std::pair{"etcd_interval", options.etcd_interval},
        std::pair{"retry_delay_min", options.retry_delay_min}, std::pair{"retry_delay_max", options.retry_delay_max}}) {
    if (value >= absl::Milliseconds(1) && value <= absl::Hours(24)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("NameSourceOptions: ", name, " is ", absl::FormatDuration(value), "; allowed are 1ms to 24h"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<NameSource>> NameSource::Create(absl::string_view uri, Watcher watcher,
                                                               const NameSourceOptions& options) {
  if (watcher == nullptr) return absl::InvalidArgumentError("a name source needs a watcher");
  if (const absl::Status status = CheckOptions(options); !status.ok()) return status;
  absl::StatusOr<std::shared_ptr<NameLookup>> lookup = MakeLookup(uri, std::move(watcher), options);
  if (!lookup.ok()) {
    return absl::Status(lookup.status().code(), absl::StrCat("servers \"", uri, "\": ", lookup.status().message()));
  }
  absl::StatusOr<std::unique_ptr<BackgroundThread>> thread = BackgroundThread::Start(*lookup);
  if (!thread.ok()) return thread.status();
  return absl::WrapUnique(new NameSource(*std::move(lookup), *std::move(thread)));
}

NameSource::NameSource(std::shared_ptr<NameLookup> lookup, std::unique_ptr<BackgroundThread> thread)
    : lookup_(std::move(lookup)), thread_(std::move(thread)) {}

NameSource::~NameSource() = default;

void NameSource::Refresh() { lookup_->Refresh(); }

}  // namespace verbena::rpc
