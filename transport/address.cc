#include "transport/address.h"

#include <netdb.h>

#include <cstring>
#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

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

absl::StatusOr<sockaddr_storage> LookUp(const Address& address, int flags) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(address.host.c_str(), absl::StrCat(address.port).c_str(), &hints, &found);
  if (error != 0) {
    return absl::NotFoundError(absl::StrCat("host \"", address.host, "\" was not found: ", gai_strerror(error)));
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found, &freeaddrinfo);
  sockaddr_storage result = {};
  std::memcpy(&result, found->ai_addr, found->ai_addrlen);
  return result;
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

bool IsLiteral(const Address& address) { return LookUp(address, AI_NUMERICHOST).ok(); }

absl::StatusOr<sockaddr_storage> ResolveHost(const Address& address) { return LookUp(address, 0); }

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
