#include "benchmarks/yardstick/raw_memory.h"

#include <unistd.h>

#include <algorithm>

namespace verbena::benchmarks {

RawMemory::RawMemory(const verbs::VerbsApi& api, size_t bytes, std::byte fill) : bytes_(bytes) {
  const auto page = static_cast<size_t>(getpagesize());
  const size_t mapped = (bytes + page - 1) / page * page;
  if (void* const memory = api.map_memory(mapped); memory != nullptr) {
    memory_ = {static_cast<std::byte*>(memory), [&api, mapped](std::byte* at) { api.unmap_memory(at, mapped); }};
  } else {
    memory_ = {new std::byte[bytes], std::default_delete<std::byte[]>()};
  }
  std::fill_n(memory_.get(), bytes, fill);
}

}  // namespace verbena::benchmarks
