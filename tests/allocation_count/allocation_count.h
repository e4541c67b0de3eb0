// How often this process has allocated memory by operator new. Linking this replaces the global operator new.

#ifndef VERBENA_TESTS_ALLOCATION_COUNT_ALLOCATION_COUNT_H_
#define VERBENA_TESTS_ALLOCATION_COUNT_ALLOCATION_COUNT_H_

#include <cstdint>

namespace verbena::testing {

// All threads together, since the start. Any thread.
uint64_t AllocationCount();
// How many of them have not been freed. The same.
int64_t LiveAllocationCount();

// How many of them fell into a call of `function`.
template <typename Function>
uint64_t AllocationsOf(Function&& function) {
  const uint64_t before = AllocationCount();
  function();
  return AllocationCount() - before;
}

}  // namespace verbena::testing

#endif  // VERBENA_TESTS_ALLOCATION_COUNT_ALLOCATION_COUNT_H_
