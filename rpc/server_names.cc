#include "rpc/server_names.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "rpc/names/host_port.h"

namespace verbena::rpc {

bool ServerNames::NamesMany(absl::string_view target) {
  if (CheckServerAddress(target).ok()) return false;
  if (absl::StrContains(target, ',')) return true;
  for (const absl::string_view scheme : {"list:", "dns://", "file://", "etcd://"}) {
    if (absl::StartsWith(target, scheme)) return true;
  }
  return false;
}

absl::Status ServerNames::Check(absl::string_view target) {
  if (NamesMany(target)) return absl::OkStatus();  // As Start will.
  const absl::Status checked = CheckServerAddress(target);
  if (checked.ok()) return checked;
  return absl::InvalidArgumentError(absl::StrCat(checked.message(),
                                                 "; a server is host:port, rdma://host:port or soft://host:port; "
                                                 "several are host:port,host:port, dns:///name:port, "
                                                 "file:///path or etcd://host:port/prefix"));
}

absl::Status ServerNames::Start(absl::string_view target, const NameSourceOptions& options,
                                NameSource::Watcher watcher) {
  absl::StatusOr<std::unique_ptr<NameSource>> source = NameSource::Create(target, std::move(watcher), options);
  if (!source.ok()) return source.status();
  const std::lock_guard lock(mu_);
  source_ = *std::move(source);
  return absl::OkStatus();
}

void ServerNames::Refresh() {
  const std::lock_guard lock(mu_);
  if (source_ != nullptr) source_->Refresh();
}

void ServerNames::Stop() {
  std::unique_ptr<NameSource> stopped;  // Destroyed without the lock: it may take a while.
  const std::lock_guard lock(mu_);
  stopped = std::move(source_);
}

}  // namespace verbena::rpc
