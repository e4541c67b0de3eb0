// A payload that the peer may READ: the identity block, what the message's source wrote, and the pieces of its
// attachment.
//
// Pieces that stand in payload memory, or in memory that the user registered, are exported where they are
// (gather_plan.h has the rule); everything else is copied, in order, into one block whose first bytes are the identity.
// A key that a peer has seen never opens memory that holds something else later:
//   - On a device with memory windows each block, and what a user registered, is registered once, for this process
//     alone, and a window opens the bytes of this message to this connection's peer and nobody else. Bind gives the
//     windows their keys.
//   - On others each piece has a registration of its own, made for this message and gone with it. Until then another
//     peer in the protection domain that knows address and key can read it.
//
// Owner: a poll group's pool (lending_pool.h), which lends it to the connection's outbound table, then, where it was
// bound, to its list of exports that are taken back. Clearing it takes the peer's access away, so it must not happen
// before the peer finished or the queue pair is destroyed (quarantine); one that is bound, not before its windows are
// invalidated or the queue pair is destroyed. Thread: its loop's.

#ifndef VERBENA_TRANSPORT_EXPORTED_PAYLOAD_H_
#define VERBENA_TRANSPORT_EXPORTED_PAYLOAD_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/cord.h"
#include "transport/connection.h"
#include "transport/device_context.h"
#include "transport/payload_arena.h"
#include "transport/pinned_region.h"
#include "transport/user_memory.h"
#include "transport/verbs/memory_window.h"
#include "transport/window_pool.h"
#include "transport/wire/frame.h"

namespace verbena::transport {

class ExportedPayload {
 public:
  // Pieces of one export that are sent from where they stand, at most: of more, the smallest are copied.
  static constexpr size_t kInPlaceMax = 31;
  // One more for the identity block and what is copied.
  static constexpr size_t kWindowsMax = kInPlaceMax + 1;

  // What a message is made of. `source` may be null. With `checksum` the identity carries the payload's CRC32C.
  struct Content {
    uint64_t epoch;
    uint64_t call_id;
    PayloadSource* source;
    const absl::Cord& attachment;
    bool checksum;
  };
  // Bytes of registered memory that the peer is let see through a window.
  struct Opening {
    WindowPool::Loan window;
    const verbs::MemoryRegion* region;
    absl::Span<const std::byte> bytes;
  };

  ExportedPayload() = default;  // Of nothing.
  ExportedPayload(const ExportedPayload&) = delete;
  ExportedPayload& operator=(const ExportedPayload&) = delete;

  // Of one of nothing: registers or takes windows, copies, and writes the source last: not at all if anything failed,
  // then it is to be cleared. ResourceExhausted: payload memory, memory to pin or windows are short.
  absl::Status Fill(const DeviceContext& device, WindowPool* windows, const Content& content, size_t segments_max);
  void Clear();

  // Windows that are to be bound before the peer may know of this; none on devices without.
  size_t windows() const { return openings_.size(); }
  // Has each window bound; `bind` returns its key. Once.
  void Bind(absl::FunctionRef<uint32_t(Opening&)> bind);
  bool bound() const { return bound_; }
  absl::Span<Opening> openings() { return absl::MakeSpan(openings_); }

  // Identity block first; at most the `segments_max` of Fill. With windows: after Bind.
  absl::Span<const wire::Segment> segments() const { return segments_; }
  // Of the attachment.
  uint64_t copied_bytes() const { return copied_bytes_; }

 private:
  BlockRef block_;                                        // Identity and copied pieces.
  absl::Cord attachment_;                                 // Keeps the pieces that are exported in place.
  std::vector<std::shared_ptr<UserMemory>> user_memory_;  // Keeps the registrations of such pieces.
  std::vector<PinnedRegion> regions_;
  // Of most there is one: the block, or one piece behind it.
  absl::InlinedVector<Opening, 2> openings_;
  absl::InlinedVector<wire::Segment, 2> segments_;
  absl::InlinedVector<size_t, 2> opening_of_segment_;  // As long as segments_, with windows.
  uint64_t copied_bytes_ = 0;
  bool bound_ = false;

  friend class PayloadExporter;
};

}  // namespace verbena::transport

#endif  // VERBENA_TRANSPORT_EXPORTED_PAYLOAD_H_
