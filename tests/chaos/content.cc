#include "tests/chaos/content.h"

#include <algorithm>
#include <cstring>

#include "rpc/core/split_mix.h"

namespace verbena::chaos {

std::string Content(uint64_t token, Part part, uint32_t index, size_t bytes) {
  rpc::SplitMix64 random(rpc::MixBits(token) ^ (uint64_t{index} << 8 | static_cast<uint64_t>(part)));
  std::string content(bytes, '\0');
  for (size_t at = 0; at < bytes; at += sizeof(uint64_t)) {
    const uint64_t next = random.Next();
    std::memcpy(content.data() + at, &next, std::min(sizeof(next), bytes - at));
  }
  return content;
}

}  // namespace verbena::chaos
