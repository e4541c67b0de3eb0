#include "rpc/names/etcd_client.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "rpc/names/host_port.h"
#include "rpc/names/http_post.h"

namespace verbena::rpc {
namespace {

constexpr long kHttpOk = 200;
// gRPC metadata, as the gateway takes it: a member that has lost the others ends the watch, rather than go on in
// silence.
constexpr char kRequireLeader[] = "Grpc-Metadata-hasleader: true";

absl::Status TooLong() {
  return absl::ResourceExhaustedError(absl::StrCat("etcd's answer is longer than ", kEtcdAnswerBytesMax, " bytes"));
}

absl::Status AbortedWatch(absl::string_view url, absl::string_view why) {
  return absl::AbortedError(absl::StrCat(url, ": etcd ended the watch: ", why));
}

// Cuts a stream of bytes into lines. `on_line` may end it by an error.
class Lines {
 public:
  explicit Lines(absl::FunctionRef<absl::Status(absl::string_view)> on_line) : on_line_(on_line) {}

  absl::Status Add(absl::string_view bytes) {
    while (true) {
      const size_t end = bytes.find('\n');
      if (begun_.size() + std::min(end, bytes.size()) > kEtcdAnswerBytesMax) return TooLong();
      absl::StrAppend(&begun_, bytes.substr(0, end));
      if (end == absl::string_view::npos) return absl::OkStatus();
      bytes.remove_prefix(end + 1);
      if (const absl::Status status = on_line_(begun_); !status.ok()) return status;
      begun_.clear();
    }
  }
  const std::string& begun() const { return begun_; }

 private:
  const absl::FunctionRef<absl::Status(absl::string_view)> on_line_;
  std::string begun_;
};

}  // namespace

absl::StatusOr<EtcdPlace> ParseEtcdPlace(absl::string_view text) {
  const size_t slash = text.find('/');
  if (slash == absl::string_view::npos || slash + 1 == text.size()) {
    return absl::InvalidArgumentError("the prefix is missing; write etcd://host:port/prefix");
  }
  EtcdPlace place;
  for (const absl::string_view endpoint : absl::StrSplit(text.substr(0, slash), ',')) {
    const absl::StatusOr<HostPort> parsed = ParseHostPort(endpoint);
    if (!parsed.ok()) return parsed.status();
    place.endpoints.emplace_back(endpoint);
  }
  place.prefix = std::string(text.substr(slash + 1));
  if (place.prefix.back() != '/') place.prefix += '/';
  return place;
}

std::string EtcdClient::Url(absl::string_view path) const {
  return absl::StrCat("http://", endpoints_[current_], "/v3/", path);
}

absl::StatusOr<std::string> EtcdClient::Ask(absl::string_view path, std::string request) {
  const HttpPost post = {.url = Url(path),
                         .body = std::move(request),
                         .connect_timeout = timeout_,
                         .timeout = timeout_,
                         .stopped_by = stopped_by_};
  std::string answer;
  const absl::StatusOr<long> http_status = Perform(post, [&answer](absl::string_view bytes) {
    if (answer.size() + bytes.size() > kEtcdAnswerBytesMax) return TooLong();
    absl::StrAppend(&answer, bytes);
    return absl::OkStatus();
  });
  if (!http_status.ok()) {
    NextEndpoint();
    return http_status.status();
  }
  if (*http_status == kHttpOk) return answer;
  NextEndpoint();
  return absl::UnavailableError(absl::StrCat(post.url, ": HTTP ", *http_status, ": ", EtcdErrorWords(answer)));
}

template <typename Value>
absl::StatusOr<Value> EtcdClient::AskFor(absl::string_view path, std::string request,
                                         absl::StatusOr<Value> (*parse)(absl::string_view answer)) {
  const absl::StatusOr<std::string> answer = Ask(path, std::move(request));
  if (!answer.ok()) return answer.status();
  absl::StatusOr<Value> parsed = parse(*answer);
  if (!parsed.ok()) NextEndpoint();
  return parsed;
}

EtcdClient EtcdClient::Unstoppable(absl::Duration timeout) const {
  EtcdClient client(endpoints_, timeout, nullptr);
  client.current_ = current_;
  return client;
}

absl::StatusOr<EtcdSnapshot> EtcdClient::Range(absl::string_view prefix) {
  return AskFor("kv/range", EtcdRangeRequest(prefix), ParseEtcdRange);
}

absl::StatusOr<int64_t> EtcdClient::LeaseOf(absl::string_view key) {
  return AskFor("kv/range", EtcdKeyRequest(key), ParseEtcdLeaseOf);
}

absl::Status EtcdClient::Watch(absl::string_view prefix, int64_t from_revision, absl::Duration how_long,
                               absl::FunctionRef<void(const std::vector<EtcdChange>&)> on_changes) {
  const auto on_line = [&](absl::string_view line) {
    const absl::StatusOr<EtcdWatchMessage> message = ParseEtcdWatchMessage(line);
    if (!message.ok()) return message.status();
    if (message->compacted) return absl::OutOfRangeError(absl::StrCat("revision ", from_revision, " is compacted"));
    if (!message->changes.empty()) on_changes(message->changes);
    return absl::OkStatus();
  };
  Lines lines(on_line);
  const HttpPost post = {.url = Url("watch"),
                         .body = EtcdWatchRequest(prefix, from_revision),
                         .header = kRequireLeader,
                         .connect_timeout = timeout_,
                         .timeout = how_long,
                         .stopped_by = stopped_by_};
  const absl::StatusOr<long> end = Perform(post, [&](absl::string_view bytes) { return lines.Add(bytes); });
  if (absl::IsOutOfRange(end.status()) || absl::IsDeadlineExceeded(end.status())) return end.status();
  NextEndpoint();
  if (absl::IsAborted(end.status())) return AbortedWatch(post.url, end.status().message());
  if (!end.ok()) return end.status();
  // Some end their last words without a newline.
  if (!lines.begun().empty()) return AbortedWatch(post.url, EtcdErrorWords(lines.begun()));
  return absl::UnavailableError(absl::StrCat(post.url, ": the watch ended, HTTP ", *end));
}

absl::StatusOr<int64_t> EtcdClient::GrantLease(absl::Duration ttl) {
  return AskFor("lease/grant", EtcdGrantRequest(absl::ToInt64Seconds(ttl)), ParseEtcdGrant);
}

absl::Status EtcdClient::Put(absl::string_view key, absl::string_view value, int64_t lease) {
  return Ask("kv/put", EtcdPutRequest(key, value, lease)).status();
}

absl::Status EtcdClient::KeepAlive(int64_t lease) {
  const absl::StatusOr<int64_t> seconds = AskFor("lease/keepalive", EtcdLeaseRequest(lease), ParseEtcdKeepAlive);
  if (!seconds.ok()) return seconds.status();
  return *seconds > 0 ? absl::OkStatus() : absl::NotFoundError("the lease has expired");
}

absl::Status EtcdClient::Revoke(int64_t lease) { return Ask("lease/revoke", EtcdLeaseRequest(lease)).status(); }

}  // namespace verbena::rpc
