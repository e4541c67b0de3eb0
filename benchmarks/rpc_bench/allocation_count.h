// How often this process has allocated memory by operator new. Linking this replaces the global operator new.

#ifndef VERBENA_BENCHMARKS_RPC_BENCH_ALLOCATION_COUNT_H_
#define VERBENA_BENCHMARKS_RPC_BENCH_ALLOCATION_COUNT_H_

#include <cstdint>

namespace verbena::benchmarks {

// All threads together, since the start. Any thread.
uint64_t AllocationCount();

}  // namespace verbena::benchmarks

#endif  // VERBENA_BENCHMARKS_RPC_BENCH_ALLOCATION_COUNT_H_
