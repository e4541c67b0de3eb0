// What a work request's wr_id says: the kind of work, where its state stands, and which of those that stood there it
// is. Encoded and decoded here and nowhere else; never a pointer, so a stale or forged completion finds nothing instead
// of freed memory.
//
//   bits 63..56  kind        meaning belongs to the caller; an enum of at most 256 values
//   bits 55..32  index       in that kind's table: of receives, of links
//   bits 31..0   generation  a number that comes back only after 2^32 others of that index
//
// A pure value. Thread: any.

#ifndef VERBENA_TRANSPORT_VERBS_COMPLETION_TOKEN_H_
#define VERBENA_TRANSPORT_VERBS_COMPLETION_TOKEN_H_

#include <cassert>
#include <cstdint>

namespace verbena::verbs {

class CompletionToken {
 public:
  static constexpr uint32_t kIndexMax = (uint32_t{1} << 24) - 1;

  // `Kind` is an enum class (or integer) whose value fits into 8 bits; `index` is at most kIndexMax: a table is bounded
  // by it.
  template <typename Kind>
  static constexpr CompletionToken Of(Kind kind, uint32_t index, uint32_t generation) {
    assert(static_cast<uint64_t>(kind) <= 0xff && index <= kIndexMax);
    return CompletionToken(static_cast<uint64_t>(kind) << 56 | uint64_t{index} << 32 | generation);
  }
  static constexpr CompletionToken FromWorkRequestId(uint64_t wr_id) { return CompletionToken(wr_id); }

  constexpr uint64_t work_request_id() const { return value_; }
  template <typename Kind = uint8_t>
  constexpr Kind kind() const {
    return static_cast<Kind>(value_ >> 56);
  }
  constexpr uint32_t index() const { return static_cast<uint32_t>(value_ >> 32) & kIndexMax; }
  constexpr uint32_t generation() const { return static_cast<uint32_t>(value_); }

  friend constexpr bool operator==(CompletionToken, CompletionToken) = default;

 private:
  explicit constexpr CompletionToken(uint64_t value) : value_(value) {}

  uint64_t value_;
};

static_assert(sizeof(CompletionToken) == sizeof(uint64_t));

}  // namespace verbena::verbs

#endif  // VERBENA_TRANSPORT_VERBS_COMPLETION_TOKEN_H_
