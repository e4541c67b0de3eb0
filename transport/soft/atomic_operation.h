// The two atomic operations of RDMA, on eight aligned bytes of this process.
//
// They are atomic towards each other, and towards the application's own atomic operations on the same bytes.

#ifndef VERBENA_TRANSPORT_SOFT_ATOMIC_OPERATION_H_
#define VERBENA_TRANSPORT_SOFT_ATOMIC_OPERATION_H_

#include <atomic>
#include <cstdint>

#include "transport/soft/record.h"

namespace verbena::soft {

struct AtomicOperation {
  bool compares;     // Else it adds.
  uint64_t operand;  // To add, or to compare with.
  uint64_t swap;     // What is stored if the comparison holds.
};

constexpr bool IsAtomicAddress(uint64_t address) { return address % kAtomicBytes == 0; }

// Returns what was there before. `address` is aligned.
inline uint64_t Execute(const AtomicOperation& operation, uint64_t address) {
  std::atomic_ref<uint64_t> word(*reinterpret_cast<uint64_t*>(address));
  if (!operation.compares) return word.fetch_add(operation.operand);
  uint64_t found = operation.operand;
  word.compare_exchange_strong(found, operation.swap);
  return found;
}

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_ATOMIC_OPERATION_H_
