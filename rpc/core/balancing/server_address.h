// Where a server is, and how much of the traffic it should have. A value; any thread.

#ifndef VERBENA_RPC_CORE_BALANCING_SERVER_ADDRESS_H_
#define VERBENA_RPC_CORE_BALANCING_SERVER_ADDRESS_H_

#include <cstdint>
#include <string>

namespace verbena::rpc {

// Weights past it are cut to it, so that sums of them stay far below 2^64.
inline constexpr uint32_t kServerWeightMax = 1'000'000;

struct ServerAddress {
  std::string text;     // As a channel takes it: "host:port", "soft://host:port". Servers are told apart by it.
  uint32_t weight = 1;  // Relative to the others' of the list. Zero counts as one.

  friend bool operator==(const ServerAddress&, const ServerAddress&) = default;
};

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_CORE_BALANCING_SERVER_ADDRESS_H_
