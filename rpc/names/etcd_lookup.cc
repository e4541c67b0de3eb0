#include "rpc/names/etcd_lookup.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/printable.h"

namespace verbena::rpc {

absl::StatusOr<std::shared_ptr<NameLookup>> EtcdLookup::Create(absl::string_view text, Watcher watcher,
                                                               const NameSourceOptions& options) {
  absl::StatusOr<EtcdPlace> place = ParseEtcdPlace(text);
  if (!place.ok()) return place.status();
  return std::make_shared<EtcdLookup>(*std::move(place), std::move(watcher), options);
}

EtcdLookup::EtcdLookup(EtcdPlace place, Watcher watcher, const NameSourceOptions& options)
    : NameLookup(std::move(watcher)),
      prefix_(std::move(place.prefix)),
      interval_(options.etcd_interval),
      client_(std::move(place.endpoints), options.etcd_timeout, this),
      random_(options.seed),
      retry_(RetryOptions(options), random_.Next()) {}

void EtcdLookup::Run() {
  while (!stopping()) {
    const absl::Status end = Follow();
    // A connection that is lost once is no news: most often the next endpoint goes on at once. That etcd gives up is.
    if (retry_.failures() > 1 || absl::IsAborted(end)) Report(end);
    SleepUntil(retry_.NextAttempt());
  }
}

absl::Status EtcdLookup::Follow() {
  retry_.BeginConnect();
  absl::StatusOr<EtcdSnapshot> snapshot = client_.Range(prefix_);
  if (!snapshot.ok()) {
    retry_.OnConnectFailed(MonotonicNow());
    return snapshot.status();
  }
  retry_.OnConnected(MonotonicNow());
  values_ = std::move(snapshot->values);
  ReportValues();
  const absl::Duration how_long = interval_ * random_.NextJitterFactor(kIntervalJitter);
  const absl::Status end = client_.Watch(prefix_, snapshot->revision + 1, how_long,
                                         [this](const std::vector<EtcdChange>& changes) { Apply(changes); });
  if (absl::IsDeadlineExceeded(end)) {
    retry_.OnClosed();
  } else {
    retry_.OnLost(MonotonicNow());
  }
  return end;
}

void EtcdLookup::Apply(const std::vector<EtcdChange>& changes) {
  for (const EtcdChange& change : changes) {
    if (change.deleted) {
      values_.erase(change.key);
    } else {
      values_[change.key] = change.value;
    }
  }
  ReportValues();
}

void EtcdLookup::ReportValues() {
  std::vector<ServerAddress> servers;
  absl::Status bad;  // The first.
  for (const auto& [key, value] : values_) {
    absl::StatusOr<ServerAddress> server = ParseEtcdValue(value);
    if (server.ok()) {
      servers.push_back(*std::move(server));
    } else {
      bad.Update(
          absl::InvalidArgumentError(absl::StrCat("etcd key \"", Printable(key), "\": ", server.status().message())));
    }
  }
  // Once, while others change. What is told last is what holds.
  const bool is_news = std::exchange(bad_, bad) != bad;
  if (!bad.ok() && (is_news || servers.empty())) Report(bad);
  if (!servers.empty()) {
    Report(std::move(servers));
  } else if (values_.empty()) {
    Report(absl::NotFoundError(absl::StrCat("etcd has no server under \"", prefix_, "\"")));
  }
}

}  // namespace verbena::rpc
