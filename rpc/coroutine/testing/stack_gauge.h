// How much stack there was between the highest and the lowest place where it was asked.
//
// Owner: the test. Thread: one.

#ifndef VERBENA_RPC_COROUTINE_TESTING_STACK_GAUGE_H_
#define VERBENA_RPC_COROUTINE_TESTING_STACK_GAUGE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace verbena::testing {

class StackGauge {
 public:
  [[gnu::noinline]] void Note() {
    const auto here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
    lowest_ = std::min(lowest_, here);
    highest_ = std::max(highest_, here);
  }
  size_t bytes() const { return highest_ < lowest_ ? 0 : highest_ - lowest_; }

 private:
  uintptr_t lowest_ = std::numeric_limits<uintptr_t>::max();
  uintptr_t highest_ = 0;
};

// Enough for one hand-over in any build, sanitizers' included; a stack that grows with a million takes 30 MB or more.
constexpr size_t kStackOfOneHandOver = 4096;

}  // namespace verbena::testing

#endif  // VERBENA_RPC_COROUTINE_TESTING_STACK_GAUGE_H_
