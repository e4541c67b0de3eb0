#include "rpc/names/dns_lookup.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "rpc/names/dns_query.h"

namespace verbena::rpc {
namespace {

// c-ares, which takes several servers with commas between, refuses what it does not understand when it is used; but of
// a port that is too large it keeps the last 16 bits.
absl::Status CheckPorts(absl::string_view servers) {
  for (const absl::string_view server : absl::StrSplit(servers, ',')) {
    const bool bare_ipv6 = !absl::StartsWith(server, "[") && std::count(server.begin(), server.end(), ':') > 1;
    const bool has_port = absl::StrContains(server, ':') && !bare_ipv6 && !absl::EndsWith(server, "]");
    if (!has_port) continue;
    if (absl::Status status = ParseHostPort(server).status(); !status.ok()) return status;
  }
  return absl::OkStatus();
}

bool ByText(const ServerAddress& a, const ServerAddress& b) { return a.text < b.text; }

}  // namespace

absl::StatusOr<std::shared_ptr<NameLookup>> DnsLookup::Create(absl::string_view text, Watcher watcher,
                                                              const NameSourceOptions& options) {
  const size_t slash = text.find('/');
  if (slash == absl::string_view::npos) return absl::InvalidArgumentError("write dns:///name:port");
  if (const absl::Status status = CheckPorts(text.substr(0, slash)); !status.ok()) return status;
  absl::StatusOr<HostPort> name = ParseHostPort(text.substr(slash + 1));
  if (!name.ok()) return name.status();
  return std::make_shared<DnsLookup>(std::string(text.substr(0, slash)), *std::move(name), std::move(watcher), options);
}

DnsLookup::DnsLookup(std::string server, HostPort name, Watcher watcher, const NameSourceOptions& options)
    : NameLookup(std::move(watcher)),
      server_(std::move(server)),
      name_(std::move(name)),
      options_(options),
      random_(options.seed) {}

void DnsLookup::Run() {
  std::optional<Reconnect> retry;  // Since the last success.
  while (true) {
    TakeRefresh();
    const absl::Time asked = MonotonicNow();
    List list = Resolve();
    if (stopping()) return;
    if (list.ok()) {
      std::vector<ServerAddress> sorted = *list;
      std::sort(sorted.begin(), sorted.end(), ByText);
      if (std::exchange(sorted_, sorted) != sorted) Report(list);
      retry.reset();
      AwaitNext(asked, asked + options_.dns_interval * random_.NextJitterFactor(kIntervalJitter));
    } else {
      sorted_.clear();  // The list is told again after an error.
      Report(list);
      if (!retry.has_value()) retry.emplace(RetryOptions(options_), options_.seed);
      retry->BeginConnect();
      retry->OnConnectFailed(MonotonicNow());
      AwaitNext(asked, retry->NextAttempt());
    }
  }
}

void DnsLookup::AwaitNext(absl::Time asked, absl::Time next) {
  while (!stopping()) {
    // First: one that came during the look-up has woken nobody who looks at it.
    if (TakeRefresh()) next = std::min(next, asked + options_.dns_refresh_interval_min);
    if (MonotonicNow() >= next) return;
    Await(next);
  }
}

NameLookup::List DnsLookup::Resolve() {
  DnsQuery query;
  query.Begin(name_.host, server_, options_.dns_try_timeout);
  while (!query.done() && !stopping()) {
    std::vector<pollfd> descriptors = query.Descriptors();
    Await(MonotonicNow() + query.Timeout(), absl::MakeSpan(descriptors));
    query.Process(descriptors);
  }
  if (!query.done()) return absl::CancelledError("stopping");
  if (query.status() != ARES_SUCCESS) return Failure(query.status());
  std::vector<ServerAddress> servers;
  for (const std::string& address : query.addresses()) servers.push_back({FormatHostPort(address, name_.port)});
  if (servers.empty()) return Failure(ARES_ENODATA);
  return servers;
}

absl::Status DnsLookup::Failure(int ares_status) const {
  const bool no_such_name = ares_status == ARES_ENOTFOUND || ares_status == ARES_ENODATA || ares_status == ARES_ENONAME;
  return absl::Status(no_such_name ? absl::StatusCode::kNotFound : absl::StatusCode::kUnavailable,
                      absl::StrCat("DNS name \"", name_.host, "\": ", ares_strerror(ares_status), ", says ",
                                   server_.empty() ? "the system's resolver" : server_));
}

}  // namespace verbena::rpc
