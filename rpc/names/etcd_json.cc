#include "rpc/names/etcd_json.h"

#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/printable.h"
#include "rpc/names/host_port.h"

namespace verbena::rpc {
namespace {

using Json = nlohmann::json;

// The library's own accessors throw on what is not expected; these answer with null, "" and 0. To copy a value or to
// print it goes down its nesting call by call, and that is as deep as whoever wrote it likes: only numbers are.
Json Parse(absl::string_view text) {
  return Json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
}

const Json& Member(const Json& object, const char* name) {
  static const Json null;
  if (!object.is_object()) return null;
  const auto found = object.find(name);
  return found == object.end() ? null : *found;
}

std::string Text(const Json& value) { return value.is_string() ? value.get_ref<const std::string&>() : std::string(); }

int64_t Number(const Json& value) {
  int64_t number = 0;
  if (value.is_number_integer()) return value.get<int64_t>();
  return absl::SimpleAtoi(Text(value), &number) ? number : 0;
}

absl::StatusOr<std::string> Bytes(const Json& base64) {
  std::string bytes;
  if (!base64.is_null() && (!base64.is_string() || !absl::Base64Unescape(Text(base64), &bytes))) {
    return absl::InvalidArgumentError("a key or value is no Base64");
  }
  return bytes;
}

absl::Status NotOfItsForm(absl::string_view answer) {
  return absl::InvalidArgumentError(absl::StrCat("etcd's answer is not understood: ", Printable(answer)));
}

// {key, value} of an object that has them in Base64.
absl::StatusOr<std::pair<std::string, std::string>> KeyAndValue(const Json& pair) {
  absl::StatusOr<std::string> key = Bytes(Member(pair, "key"));
  if (!key.ok()) return key.status();
  absl::StatusOr<std::string> value = Bytes(Member(pair, "value"));
  if (!value.ok()) return value.status();
  return std::pair(*std::move(key), *std::move(value));
}

Json KeysUnder(absl::string_view prefix) {
  std::string end(prefix);
  ++end.back();
  return {{"key", absl::Base64Escape(prefix)}, {"range_end", absl::Base64Escape(end)}};
}

std::string IdText(int64_t id) { return absl::StrCat(id); }

}  // namespace

std::string EtcdRangeRequest(absl::string_view prefix) { return KeysUnder(prefix).dump(); }

std::string EtcdKeyRequest(absl::string_view key) { return Json{{"key", absl::Base64Escape(key)}}.dump(); }

std::string EtcdWatchRequest(absl::string_view prefix, int64_t from_revision) {
  Json request = KeysUnder(prefix);
  request["start_revision"] = IdText(from_revision);
  return Json{{"create_request", std::move(request)}}.dump();
}

std::string EtcdPutRequest(absl::string_view key, absl::string_view value, int64_t lease) {
  return Json{{"key", absl::Base64Escape(key)}, {"value", absl::Base64Escape(value)}, {"lease", IdText(lease)}}.dump();
}

std::string EtcdGrantRequest(int64_t ttl_seconds) { return Json{{"TTL", IdText(ttl_seconds)}}.dump(); }

std::string EtcdLeaseRequest(int64_t lease) { return Json{{"ID", IdText(lease)}}.dump(); }

absl::StatusOr<EtcdSnapshot> ParseEtcdRange(absl::string_view answer) {
  const Json json = Parse(answer);
  EtcdSnapshot snapshot;
  snapshot.revision = Number(Member(Member(json, "header"), "revision"));
  // A watch begins with the next one.
  if (snapshot.revision <= 0 || snapshot.revision == std::numeric_limits<int64_t>::max()) return NotOfItsForm(answer);
  const Json& pairs = Member(json, "kvs");
  if (pairs.is_null()) return snapshot;
  if (!pairs.is_array()) return NotOfItsForm(answer);
  for (const Json& each : pairs) {
    absl::StatusOr<std::pair<std::string, std::string>> pair = KeyAndValue(each);
    if (!pair.ok()) return pair.status();
    snapshot.values.insert(*std::move(pair));
  }
  return snapshot;
}

absl::StatusOr<int64_t> ParseEtcdLeaseOf(absl::string_view answer) {
  const Json json = Parse(answer);
  if (Number(Member(Member(json, "header"), "revision")) <= 0) return NotOfItsForm(answer);
  const Json& pairs = Member(json, "kvs");
  return pairs.is_array() && !pairs.empty() ? Number(Member(pairs.front(), "lease")) : 0;
}

absl::StatusOr<EtcdWatchMessage> ParseEtcdWatchMessage(absl::string_view line) {
  const Json json = Parse(line);
  const Json& result = Member(json, "result");
  if (!Member(json, "error").is_null()) return absl::AbortedError(EtcdErrorWords(line));
  if (!result.is_object()) return NotOfItsForm(line);
  EtcdWatchMessage message;
  message.compacted = Number(Member(result, "compact_revision")) > 0;
  if (message.compacted) return message;
  if (Member(result, "canceled") == Json(true)) {
    return absl::AbortedError(Printable(Text(Member(result, "cancel_reason"))));
  }
  const Json& events = Member(result, "events");
  if (events.is_null()) return message;
  if (!events.is_array()) return NotOfItsForm(line);
  for (const Json& event : events) {
    absl::StatusOr<std::pair<std::string, std::string>> pair = KeyAndValue(Member(event, "kv"));
    if (!pair.ok()) return pair.status();
    const bool deleted = Text(Member(event, "type")) == "DELETE";
    message.changes.push_back({deleted, std::move(pair->first), std::move(pair->second)});
  }
  return message;
}

absl::StatusOr<int64_t> ParseEtcdGrant(absl::string_view answer) {
  const int64_t lease = Number(Member(Parse(answer), "ID"));
  if (lease == 0) return NotOfItsForm(answer);
  return lease;
}

absl::StatusOr<int64_t> ParseEtcdKeepAlive(absl::string_view answer) {
  const Json json = Parse(answer);
  const Json& result = Member(json, "result");
  if (!result.is_object()) return NotOfItsForm(answer);
  return Number(Member(result, "TTL"));
}

std::string EtcdErrorWords(absl::string_view answer) {
  const Json json = Parse(answer);
  const Json& error = Member(json, "error");
  for (const Json* words : {&Member(error, "message"), &Member(json, "message"), &error}) {
    if (!Text(*words).empty()) return Printable(Text(*words));
  }
  return Printable(answer);
}

absl::StatusOr<ServerAddress> ParseEtcdValue(absl::string_view value) {
  ServerAddress server;
  value = absl::StripAsciiWhitespace(value);
  if (absl::StartsWith(value, "{")) {
    const Json json = Parse(value);
    server.text = Text(Member(json, "address"));
    const Json& weight = Member(json, "weight");
    if (!weight.is_null()) {
      if (!weight.is_number()) return absl::InvalidArgumentError("the \"weight\" is not a number");
      const absl::StatusOr<uint32_t> parsed = ParseServerWeight(weight.dump());
      if (!parsed.ok()) return parsed.status();
      server.weight = *parsed;
    }
    if (server.text.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(Printable(value), " is no JSON with an \"address\""));
    }
  } else {
    server.text = std::string(value);
  }
  if (const absl::Status status = CheckServerAddress(server.text); !status.ok()) return status;
  return server;
}

std::string FormatEtcdValue(const ServerAddress& server) {
  return Json{{"address", server.text}, {"weight", server.weight}}.dump();
}

}  // namespace verbena::rpc
