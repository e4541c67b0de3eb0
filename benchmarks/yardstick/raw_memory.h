// Memory to register, of the kind that the device's peers READ at the least cost, if there is one: what payloads of
// calls stand in.
//
// Owner: one; move-only. Thread: one.

#ifndef VERBENA_BENCHMARKS_YARDSTICK_RAW_MEMORY_H_
#define VERBENA_BENCHMARKS_YARDSTICK_RAW_MEMORY_H_

#include <cstddef>
#include <functional>
#include <memory>

#include "absl/types/span.h"
#include "transport/verbs/verbs_api.h"

namespace verbena::benchmarks {

class RawMemory {
 public:
  // Each byte is `fill`.
  RawMemory(const verbs::VerbsApi& api, size_t bytes, std::byte fill);

  absl::Span<std::byte> bytes() const { return {memory_.get(), bytes_}; }

 private:
  size_t bytes_;
  std::unique_ptr<std::byte[], std::function<void(std::byte*)>> memory_;
};

}  // namespace verbena::benchmarks

#endif  // VERBENA_BENCHMARKS_YARDSTICK_RAW_MEMORY_H_
