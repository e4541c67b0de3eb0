// A message on its way out of one connection: what one of the machine's send ids stands for.
//
// Owner: an RdmaConnection's table. Thread: its loop's. A recycled record keeps its header's memory.

#ifndef VERBENA_TRANSPORT_OUTBOUND_H_
#define VERBENA_TRANSPORT_OUTBOUND_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/strings/cord.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "transport/connection.h"
#include "transport/exported_payload.h"
#include "transport/lending_pool.h"
#include "transport/memory_budget.h"
#include "transport/wire/frame.h"

namespace verbena::transport {

// What a frame carries of a message behind its own header.
struct EagerContent {
  absl::Span<const std::byte> header;
  PayloadSource* payload;  // Null: none.
  uint64_t source_bytes;   // Of `payload`.
  const absl::Cord& attachment;
};

struct Outbound {
  // How far an export is: its bytes are charged to the poll group's budget from kExported on, until it is taken back.
  enum class Export : uint8_t {
    kNone,
    kWaiting,   // For the budget. Woken by MemoryBudget.
    kExported,  // The peer may READ it. Ended by the machine's ReleaseExport.
  };

  uint8_t kind = 0;
  uint64_t call_id = 0;
  uint64_t tag = 0;
  std::vector<std::byte> header;
  PayloadSource* payload = nullptr;
  uint64_t source_bytes = 0;  // Of `payload`.
  absl::Cord attachment;
  bool awaited = false;   // OutboundMessage::awaited.
  bool reported = false;  // OnSent was made.
  Export state = Export::kNone;
  MemoryBudget::Ticket request = MemoryBudget::kNone;  // While kWaiting.
  LendingPool<ExportedPayload>::Lent exported;         // Null unless kExported.
  uint64_t exported_bytes = 0;                         // Charged to the budget.

  // Nothing is outstanding any more: it was reported, and nothing is exported or waits to be.
  bool done() const { return reported && state == Export::kNone; }
  void Assign(OutboundMessage&& message, uint64_t payload_source_bytes);
  void Clear();
  EagerContent content() const { return {header, payload, source_bytes, attachment}; }
  uint64_t payload_bytes() const { return source_bytes + attachment.size(); }
  // Its sender is gone, or has been told: nothing reads the source from here on.
  void DropSource() {
    payload = nullptr;
    source_bytes = 0;
  }
};

std::byte* WriteAttachment(const absl::Cord& attachment, std::byte* to);
inline std::byte* WriteHeaders(const wire::FrameHeader& header, absl::Span<const std::byte> call_header,
                               std::byte* to) {
  wire::EncodeFrameHeader(header, to);
  return std::copy(call_header.begin(), call_header.end(), to + wire::kFrameHeaderBytes);
}

// Writes a frame at `to` and returns its length: header, call header (or words), then the payload or the segments.
inline uint32_t WriteEagerFrame(const wire::FrameHeader& header, const EagerContent& content, std::byte* to) {
  std::byte* next = WriteHeaders(header, content.header, to);
  if (content.payload != nullptr) {
    content.payload->WriteTo(next);
    next += content.source_bytes;
  }
  if (!content.attachment.empty()) next = WriteAttachment(content.attachment, next);
  return static_cast<uint32_t>(next - to);
}
uint32_t WriteControlFrame(wire::FrameHeader header, absl::string_view words, std::byte* to);
uint32_t WriteAnnounceFrame(const wire::FrameHeader& header, const Outbound& outbound,
                            absl::Span<const wire::Segment> segments, std::byte* to);

}  // namespace verbena::transport

#endif  // VERBENA_TRANSPORT_OUTBOUND_H_
