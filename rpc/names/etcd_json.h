// The JSON of etcd's v3 gateway: what is asked and what is answered, as text. Keys and values are Base64 there, and
// 64-bit numbers are strings. Pure; any thread. Nothing that a server answers throws or crashes.

#ifndef VERBENA_RPC_NAMES_ETCD_JSON_H_
#define VERBENA_RPC_NAMES_ETCD_JSON_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "rpc/core/balancing/server_address.h"

namespace verbena::rpc {

// What stood under a prefix at one revision.
struct EtcdSnapshot {
  int64_t revision = 0;
  std::map<std::string, std::string> values;  // By key.
};

struct EtcdChange {
  bool deleted = false;
  std::string key;
  std::string value;
};

// One message of a watch.
struct EtcdWatchMessage {
  bool compacted = false;  // What was asked for is not kept any more; the watch is over.
  std::vector<EtcdChange> changes;
};

// Requests. `prefix` is not empty, and its last byte not 255.
std::string EtcdRangeRequest(absl::string_view prefix);
std::string EtcdKeyRequest(absl::string_view key);
std::string EtcdWatchRequest(absl::string_view prefix, int64_t from_revision);
std::string EtcdPutRequest(absl::string_view key, absl::string_view value, int64_t lease);
std::string EtcdGrantRequest(int64_t ttl_seconds);
std::string EtcdLeaseRequest(int64_t lease);  // Keepalive, revoke.

// Answers: InvalidArgument if they are not of their form.
absl::StatusOr<EtcdSnapshot> ParseEtcdRange(absl::string_view answer);
absl::StatusOr<int64_t> ParseEtcdLeaseOf(absl::string_view answer);  // To EtcdKeyRequest. 0: none, or no such key.
// Aborted, in the server's words, if the server ended the watch.
absl::StatusOr<EtcdWatchMessage> ParseEtcdWatchMessage(absl::string_view line);
absl::StatusOr<int64_t> ParseEtcdGrant(absl::string_view answer);
// Seconds that the lease has from now; 0 = there is no such lease (any more).
absl::StatusOr<int64_t> ParseEtcdKeepAlive(absl::string_view answer);
// The words of an answer that is an error; all of it if there are none.
std::string EtcdErrorWords(absl::string_view answer);

// A value as a server puts it: an address, or {"address": "host:port", "weight": 3}. InvalidArgument in words.
absl::StatusOr<ServerAddress> ParseEtcdValue(absl::string_view value);
std::string FormatEtcdValue(const ServerAddress& server);

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_NAMES_ETCD_JSON_H_
