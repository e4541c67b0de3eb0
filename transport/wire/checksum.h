// CRC32C (Castagnoli; RFC 3720, appendix B.4), the checksum of payloads, over any number of pieces.
//
// By Intel's ISA-L, which uses the processor's own instructions: of the order of 10 GB/s. It guards against software
// that mixes up memory; the fabric has checksums of its own.

#ifndef VERBENA_TRANSPORT_WIRE_CHECKSUM_H_
#define VERBENA_TRANSPORT_WIRE_CHECKSUM_H_

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"

namespace verbena::wire {

// The checksum of the pieces added so far, as if they were one. A value type.
class Crc32c {
 public:
  // Any length, past 4 GiB too.
  void Add(absl::Span<const std::byte> piece);

  uint32_t value() const { return ~state_; }

 private:
  uint32_t state_ = 0xffffffff;
};

}  // namespace verbena::wire

#endif  // VERBENA_TRANSPORT_WIRE_CHECKSUM_H_
