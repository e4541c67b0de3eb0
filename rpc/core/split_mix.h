// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014): small, seeded, the same
// on every machine, good enough to spread attempts and keys. Not for secrets. A value: one thread at a time.

#ifndef VERBENA_RPC_CORE_SPLIT_MIX_H_
#define VERBENA_RPC_CORE_SPLIT_MIX_H_

#include <cstdint>

namespace verbena::rpc {

// Each bit of the result depends on every bit of `bits`; no two inputs have the same result.
constexpr uint64_t MixBits(uint64_t bits) {
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111eb;
  return bits ^ (bits >> 31);
}

class SplitMix64 {
 public:
  explicit SplitMix64(uint64_t seed) : state_(seed) {}

  uint64_t Next() { return MixBits(state_ += 0x9e3779b97f4a7c15); }
  // In [0, 1).
  double NextUnit() { return static_cast<double>(Next() >> 11) / static_cast<double>(uint64_t{1} << 53); }
  // In [1 - jitter, 1 + jitter).
  double NextJitterFactor(double jitter) { return 1 + jitter * (2 * NextUnit() - 1); }

 private:
  uint64_t state_;
};

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_CORE_SPLIT_MIX_H_
