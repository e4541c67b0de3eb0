// The "minimum RNR NAK timer" codes of InfiniBand.

#ifndef VERBENA_TRANSPORT_SOFT_RNR_TIMER_H_
#define VERBENA_TRANSPORT_SOFT_RNR_TIMER_H_

#include <array>
#include <chrono>
#include <cstdint>

namespace verbena::soft {

// InfiniBand Architecture Specification, volume 1, table "Encoding for RNR NAK Timer Field": code 0 is the longest.
inline std::chrono::microseconds RnrTimer(uint8_t code) {
  constexpr std::array<int, 32> kMicroseconds = {655360, 10,    20,    30,     40,     60,     80,     120,
                                                 160,    240,   320,   480,    640,    960,    1280,   1920,
                                                 2560,   3840,  5120,  7680,   10240,  15360,  20480,  30720,
                                                 40960,  61440, 81920, 122880, 163840, 245760, 327680, 491520};
  return std::chrono::microseconds(kMicroseconds[code % kMicroseconds.size()]);
}

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_RNR_TIMER_H_
