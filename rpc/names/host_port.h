// Addresses as text. Nothing is looked up. Pure; any thread.

#ifndef VERBENA_RPC_NAMES_HOST_PORT_H_
#define VERBENA_RPC_NAMES_HOST_PORT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "rpc/core/balancing/server_address.h"

namespace verbena::rpc {

struct HostPort {
  std::string host;  // A name or a literal, without brackets.
  uint16_t port = 0;
};

// "host:port" or "[v6]:port", with a port from 1 to 65535. InvalidArgument, quoting `text` and saying what is wrong.
absl::StatusOr<HostPort> ParseHostPort(absl::string_view text);

// "host:port", in brackets if the host has colons.
std::string FormatHostPort(absl::string_view host, uint16_t port);

// A server's address as a channel takes it: host and port, after "soft://", "rdma://" or nothing. InvalidArgument in
// words.
absl::Status CheckServerAddress(absl::string_view text);

// "address,address,…". InvalidArgument for the first that is wrong, and for none at all.
absl::StatusOr<std::vector<ServerAddress>> ParseServerList(absl::string_view text);

// From 1 to kServerWeightMax. InvalidArgument in words.
absl::StatusOr<uint32_t> ParseServerWeight(absl::string_view text);

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_NAMES_HOST_PORT_H_
