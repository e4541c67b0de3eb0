// The simulator's only source of chance: the same seed gives the same run on every machine (SplitMix64).

#ifndef VERBENA_TESTS_SIMULATION_RANDOM_H_
#define VERBENA_TESTS_SIMULATION_RANDOM_H_

#include <cstdint>

#include "absl/time/time.h"

namespace verbena::simulation {

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t Next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  uint64_t Between(uint64_t low, uint64_t high) { return low + Next() % (high - low + 1); }  // Both included.
  bool OneIn(uint64_t n) { return n > 0 && Next() % n == 0; }                                // 0 = never.
  absl::Duration Microseconds(uint64_t low, uint64_t high) { return absl::Microseconds(Between(low, high)); }

 private:
  uint64_t state_;
};

}  // namespace verbena::simulation

#endif  // VERBENA_TESTS_SIMULATION_RANDOM_H_
