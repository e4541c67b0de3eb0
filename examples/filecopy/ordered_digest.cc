#include "examples/filecopy/ordered_digest.h"

#include <cassert>
#include <iterator>

#include "absl/strings/str_cat.h"

namespace verbena::examples {

absl::Status OrderedDigest::Check(uint64_t offset, uint64_t size) const {
  if (size == 0) return absl::InvalidArgumentError("the chunk is empty");
  if (offset > bytes_ || size > bytes_ - offset) {
    return absl::InvalidArgumentError(
        absl::StrCat("a chunk of ", size, " bytes at ", offset, " is outside of a file of ", bytes_, " bytes"));
  }
  const auto next = ahead_.lower_bound(offset);
  const uint64_t previous_end =
      next == ahead_.begin() ? hashed_ : std::prev(next)->first + std::prev(next)->second.size();
  if (offset < previous_end || (next != ahead_.end() && next->first < offset + size)) {
    return absl::InvalidArgumentError(absl::StrCat("bytes at ", offset, " were written before"));
  }
  return absl::OkStatus();
}

void OrderedDigest::Add(uint64_t offset, const absl::Cord& chunk) {
  assert(Check(offset, chunk.size()).ok());
  if (offset != hashed_) {
    ahead_.emplace(offset, chunk);
    return;
  }
  Hash(chunk);
  for (auto next = ahead_.begin(); next != ahead_.end() && next->first == hashed_; next = ahead_.erase(next)) {
    Hash(next->second);
  }
}

void OrderedDigest::Hash(const absl::Cord& chunk) {
  for (absl::string_view piece : chunk.Chunks()) digest_.Update(piece);
  hashed_ += chunk.size();
}

}  // namespace verbena::examples
