// The SHA-256 of a file whose chunks arrive in any order: hashes what continues the beginning, keeps the rest until its
// turn comes.
//
// What is kept is bounded by the sender's window, as each chunk is sent once and the next only when one is answered; it
// is shared, not copied. Not thread-safe.

#ifndef VERBENA_EXAMPLES_FILECOPY_ORDERED_DIGEST_H_
#define VERBENA_EXAMPLES_FILECOPY_ORDERED_DIGEST_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/cord.h"
#include "examples/filecopy/sha256.h"

namespace verbena::examples {

class OrderedDigest {
 public:
  // `bytes` is the size of the whole file, of which the first `hashed` are in `beginning` already.
  explicit OrderedDigest(uint64_t bytes, Sha256 beginning = {}, uint64_t hashed = 0)
      : bytes_(bytes), hashed_(hashed), digest_(std::move(beginning)) {}

  // Whether a chunk of `size` bytes at `offset` would be inside of the file and overlap no other. InvalidArgument: no.
  absl::Status Check(uint64_t offset, uint64_t size) const;
  // Adds a chunk that Check finds good.
  void Add(uint64_t offset, const absl::Cord& chunk);

  bool complete() const { return hashed_ == bytes_; }
  uint64_t bytes() const { return bytes_; }
  uint64_t hashed_bytes() const { return hashed_; }
  // Of the first hashed_bytes(): of the whole file, when it is complete.
  std::string Current() const { return digest_.Current(); }

 private:
  void Hash(const absl::Cord& chunk);

  const uint64_t bytes_;
  uint64_t hashed_;                       // [0, hashed_) is in digest_.
  std::map<uint64_t, absl::Cord> ahead_;  // By offset; none empty, none overlapping, all past hashed_.
  Sha256 digest_;
};

}  // namespace verbena::examples

#endif  // VERBENA_EXAMPLES_FILECOPY_ORDERED_DIGEST_H_
