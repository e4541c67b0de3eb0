// memcpy for long pieces at places that are the mappings', not malloc's.
//
// Where the destination is 1 to 63 bytes further in its page than the source, processors with a fast "rep movsb" take
// byte after byte, ten times as long (glibc's memmove-vec-unaligned-erms.S says so of Intel's, for whole multiples of
// 4 GiB between them, and avoids it on the models that it knows; on AMD's EPYC, whole pages between them do it:
// measured). Heaps are mapped one after the other and 64 GiB each, so that this is common here. glibc copies short
// pieces without that instruction.
//
// Pure. Thread: any.

#ifndef VERBENA_TRANSPORT_SOFT_HEAP_COPY_FORWARD_H_
#define VERBENA_TRANSPORT_SOFT_HEAP_COPY_FORWARD_H_

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace verbena::soft {

inline bool IsBadForRepMovsb(const std::byte* to, const std::byte* from) {
  constexpr uintptr_t kPage = 4096;
  const uintptr_t distance = (reinterpret_cast<uintptr_t>(to) - reinterpret_cast<uintptr_t>(from)) % kPage;
  return distance >= 1 && distance <= 63;
}

// They do not overlap.
inline void CopyForward(std::byte* to, const std::byte* from, size_t bytes) {
  constexpr size_t kShort = 2048 - 64;  // Below x86_rep_movsb_threshold, which is 2048 at least if nobody tunes it.
  const size_t piece = IsBadForRepMovsb(to, from) ? kShort : bytes;
  for (; bytes > piece; to += piece, from += piece, bytes -= piece) std::memcpy(to, from, piece);
  std::memcpy(to, from, bytes);
}

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_HEAP_COPY_FORWARD_H_
