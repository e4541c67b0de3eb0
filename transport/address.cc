#include "transport/address.h"

#include <netdb.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "transport/verbs/socket_address.h"

namespace verbena::transport {
namespace {

absl::Status BadAddress(absl::string_view text, absl::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat("address \"", text, "\": ", what, "; write host:port, rdma://host:port or soft://host:port"));
}

// Cuts the scheme off `rest`. False if there is one that is not known.
bool ConsumeScheme(absl::string_view* rest, Scheme* scheme) {
  if (absl::ConsumePrefix(rest, "rdma://")) {
    *scheme = Scheme::kRdma;
  } else if (absl::ConsumePrefix(rest, "soft://")) {
    *scheme = Scheme::kSoft;
  }
  return !absl::StrContains(*rest, "://");
}

absl::Status LookUpError(const std::string& host, int error, int system_error) {
  const bool certain = error == EAI_NONAME || error == EAI_NODATA;
  return absl::Status(certain ? absl::StatusCode::kNotFound : absl::StatusCode::kUnavailable,
                      absl::StrCat("host \"", host, "\" was not found: ",
                                   error == EAI_SYSTEM ? std::strerror(system_error) : gai_strerror(error)));
}

absl::StatusOr<HostAddresses> LookUp(const std::string& host, int flags) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  addrinfo* found = nullptr;
  if (const int error = getaddrinfo(host.c_str(), nullptr, &hints, &found); error != 0) {
    return LookUpError(host, error, errno);
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found, &freeaddrinfo);
  HostAddresses addresses;
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    std::memcpy(&addresses.emplace_back(), each->ai_addr, each->ai_addrlen);
  }
  return addresses;
}

}  // namespace

absl::StatusOr<Address> ParseAddress(absl::string_view text) {
  Address address;
  absl::string_view rest = text;
  if (!ConsumeScheme(&rest, &address.scheme)) return BadAddress(text, "unknown scheme");
  const size_t colon = rest.rfind(':');
  if (colon == absl::string_view::npos) return BadAddress(text, "the port is missing");
  uint32_t port = 0;
  if (!absl::SimpleAtoi(rest.substr(colon + 1), &port) || port > 0xffff) {
    return BadAddress(text, "the port is not a number from 0 to 65535");
  }
  absl::string_view host = rest.substr(0, colon);
  const bool bracketed = absl::StartsWith(host, "[") && absl::EndsWith(host, "]");
  if (bracketed) {
    host = host.substr(1, host.size() - 2);
  } else if (absl::StrContains(host, ":")) {
    return BadAddress(text, "an IPv6 host needs brackets");
  }
  if (host.empty()) return BadAddress(text, "the host is missing");
  address.host = std::string(host);
  address.port = static_cast<uint16_t>(port);
  return address;
}

std::optional<HostAddresses> LiteralHost(const std::string& host) {
  absl::StatusOr<HostAddresses> addresses = LookUp(host, AI_NUMERICHOST);
  return addresses.ok() ? std::optional(*std::move(addresses)) : std::nullopt;
}

absl::StatusOr<HostAddresses> LookUpHost(const std::string& host) {
  absl::StatusOr<HostAddresses> addresses = LookUp(host, 0);
  if (addresses.ok()) addresses->resize(std::min(addresses->size(), kHostAddressesMax));
  return addresses;
}

absl::StatusOr<HostAddresses> ResolveHost(const Address& address) {
  absl::StatusOr<HostAddresses> found = LookUp(address.host, 0);
  if (!found.ok()) return found.status();
  HostAddresses addresses;
  for (sockaddr_storage& each : *found) {
    verbs::CompleteScope(&each);
    verbs::SetPort(address.port, &each);
    const auto is_same = [&each](const sockaddr_storage& other) {
      return std::memcmp(&each, &other, sizeof(each)) == 0;
    };
    if (std::none_of(addresses.begin(), addresses.end(), is_same)) addresses.push_back(each);
  }
  return addresses;
}

absl::string_view ToString(Scheme scheme) {
  switch (scheme) {
    case Scheme::kAuto:
      return "auto";
    case Scheme::kRdma:
      return "rdma";
    case Scheme::kSoft:
      return "soft";
  }
  return "";
}

}  // namespace verbena::transport
