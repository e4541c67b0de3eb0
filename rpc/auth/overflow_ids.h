// The ids that the kernel says for users and groups which have no number in this process' user namespace
// (user_namespaces(7)). Whoever has one may be anybody.

#ifndef VERBENA_RPC_AUTH_OVERFLOW_IDS_H_
#define VERBENA_RPC_AUTH_OVERFLOW_IDS_H_

#include <cstdint>
#include <optional>
#include <string>

namespace verbena::rpc {

struct OverflowIds {
  std::optional<uint32_t> user;  // Nothing: every user has a number here, and the id is a user like others.
  std::optional<uint32_t> group;
};

// `proc` is where /proc is mounted. What cannot be read there counts as if some had no number.
OverflowIds ReadOverflowIds(const std::string& proc = "/proc");

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_AUTH_OVERFLOW_IDS_H_
