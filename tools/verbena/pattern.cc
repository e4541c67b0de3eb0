#include "tools/verbena/pattern.h"

#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "rpc/payload.h"

namespace verbena::tools {
namespace {

void Fill(void* data, size_t bytes, uint64_t seed) {
  std::mt19937_64 words(seed);
  for (size_t position = 0; position < bytes; position += sizeof(uint64_t)) {
    const uint64_t word = words();
    std::memcpy(static_cast<char*>(data) + position, &word, std::min(sizeof(word), bytes - position));
  }
}

}  // namespace

absl::StatusOr<absl::Cord> MakePattern(uint64_t seed, size_t bytes) {
  absl::StatusOr<PayloadMemory> memory = AllocatePayload(bytes);
  if (!memory.ok()) return memory.status();
  Fill(memory->data(), memory->size(), seed);
  return (*std::move(memory)).ToCord();
}

absl::Status ComparePattern(const absl::Cord& found, uint64_t seed, size_t bytes) {
  if (found.size() != bytes) return absl::DataLossError(absl::StrCat(found.size(), " bytes arrived of ", bytes));
  std::string expected(bytes, '\0');
  Fill(expected.data(), bytes, seed);
  size_t position = 0;
  for (const absl::string_view chunk : found.Chunks()) {
    const auto differs = std::mismatch(chunk.begin(), chunk.end(), expected.data() + position).first;
    position += static_cast<size_t>(differs - chunk.begin());
    if (differs != chunk.end()) {
      return absl::DataLossError(absl::StrCat("byte ", position, " of ", bytes, " is not the one that was sent"));
    }
  }
  return absl::OkStatus();
}

}  // namespace verbena::tools
