// A payload that the peer may READ: the identity block, what the message's source wrote, and the pieces of its
// attachment.
//
// Pieces that stand in payload memory are exported where they are; everything else is copied, in order, into one block
// whose first bytes are the identity. Each export has registrations of its own, made for this message and gone with it:
// a key that a peer has seen never opens memory that holds something else later.
//
// Owner: the connection's outbound table; destroying it takes the peer's access away, so it must not happen before the
// peer finished or the queue pair is destroyed (quarantine). Thread: its loop's.

#ifndef VERBENA_TRANSPORT_EXPORTED_PAYLOAD_H_
#define VERBENA_TRANSPORT_EXPORTED_PAYLOAD_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/cord.h"
#include "transport/connection.h"
#include "transport/payload_arena.h"
#include "transport/verbs/memory_region.h"
#include "transport/verbs/protection_domain.h"
#include "transport/wire/frame.h"

namespace verbena::transport {

class ExportedPayload {
 public:
  // Writes and registers. `source` may be null. With `checksum` the identity carries the payload's CRC32C.
  // ResourceExhausted when payload memory or memory to pin is short.
  static absl::StatusOr<ExportedPayload> Make(const verbs::ProtectionDomain& domain, uint64_t epoch, uint64_t call_id,
                                              PayloadSource* source, const absl::Cord& attachment, bool checksum,
                                              size_t segments_max);

  // Identity block first; at most the `segments_max` of Make.
  const std::vector<wire::Segment>& segments() const { return segments_; }
  // Bytes exported, with the identity block.
  uint64_t bytes() const { return bytes_; }

 private:
  ExportedPayload() = default;

  BlockRef block_;         // Identity and copied pieces.
  absl::Cord attachment_;  // Keeps the pieces that are exported in place.
  std::vector<verbs::MemoryRegion> regions_;
  std::vector<wire::Segment> segments_;
  uint64_t bytes_ = 0;

  friend class PayloadExporter;
};

}  // namespace verbena::transport

#endif  // VERBENA_TRANSPORT_EXPORTED_PAYLOAD_H_
