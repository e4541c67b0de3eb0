#include "rpc/names/host_port.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/printable.h"

namespace verbena::rpc {
namespace {

std::string Quoted(absl::string_view text) { return absl::StrCat("\"", Printable(text), "\""); }

absl::Status Bad(absl::string_view text, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(Quoted(text), ": ", what, "; write host:port"));
}

bool IsHostCharacter(char c) { return absl::ascii_isgraph(static_cast<unsigned char>(c)) && c != '/' && c != ','; }

// Errors quote `whole`, as the user wrote it; `text` is of it what stands behind the scheme.
absl::StatusOr<HostPort> ParseBehindScheme(absl::string_view text, absl::string_view whole) {
  const size_t colon = text.rfind(':');
  if (colon == absl::string_view::npos) return Bad(whole, "the port is missing");
  uint32_t port = 0;
  if (!absl::SimpleAtoi(text.substr(colon + 1), &port) || port == 0 || port > 0xffff) {
    return Bad(whole, "the port is not a number from 1 to 65535");
  }
  absl::string_view host = text.substr(0, colon);
  if (absl::StartsWith(host, "[") && absl::EndsWith(host, "]")) {
    host = host.substr(1, host.size() - 2);
  } else if (absl::StrContains(host, ":")) {
    return Bad(whole, "an IPv6 host needs brackets");
  }
  if (host.empty()) return Bad(whole, "the host is missing");
  for (const char c : host) {
    if (!IsHostCharacter(c)) return Bad(whole, "the host has a character that no host has");
  }
  return HostPort{std::string(host), static_cast<uint16_t>(port)};
}

}  // namespace

absl::StatusOr<HostPort> ParseHostPort(absl::string_view text) { return ParseBehindScheme(text, text); }

std::string FormatHostPort(absl::string_view host, uint16_t port) {
  return absl::StrContains(host, ":") ? absl::StrCat("[", host, "]:", port) : absl::StrCat(host, ":", port);
}

absl::Status CheckServerAddress(absl::string_view text) {
  absl::string_view rest = text;
  if (!absl::ConsumePrefix(&rest, "soft://")) absl::ConsumePrefix(&rest, "rdma://");
  if (absl::StrContains(rest, "://")) return Bad(text, "unknown scheme");
  return ParseBehindScheme(rest, text).status();
}

absl::StatusOr<std::vector<ServerAddress>> ParseServerList(absl::string_view text) {
  std::vector<ServerAddress> servers;
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    const absl::string_view address = absl::StripAsciiWhitespace(part);
    if (const absl::Status status = CheckServerAddress(address); !status.ok()) return status;
    servers.push_back({std::string(address)});
  }
  return servers;
}

absl::StatusOr<uint32_t> ParseServerWeight(absl::string_view text) {
  uint32_t weight = 0;
  if (!absl::SimpleAtoi(text, &weight) || weight == 0 || weight > kServerWeightMax) {
    return absl::InvalidArgumentError(
        absl::StrCat(Quoted(text), ": the weight is not a number from 1 to ", kServerWeightMax));
  }
  return weight;
}

}  // namespace verbena::rpc
