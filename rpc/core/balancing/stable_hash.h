// A 64-bit hash of bytes that is the same in every process and every release, so that all clients send a key to the
// same server: FNV-1a (Fowler, Noll, Vo), with SplitMix64's finalizer, since FNV's high bits are poor for short keys.
// Not against an adversary who chooses keys. Pure; any thread.

#ifndef VERBENA_RPC_CORE_BALANCING_STABLE_HASH_H_
#define VERBENA_RPC_CORE_BALANCING_STABLE_HASH_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "rpc/core/split_mix.h"

namespace verbena::rpc {

constexpr uint64_t StableHash(absl::string_view bytes, uint64_t seed = 0) {
  uint64_t hash = 0xcbf29ce484222325 ^ seed;
  for (const char byte : bytes) hash = (hash ^ static_cast<uint8_t>(byte)) * 0x100000001b3;
  return MixBits(hash);
}

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_CORE_BALANCING_STABLE_HASH_H_
