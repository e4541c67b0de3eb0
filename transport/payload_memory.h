// Registered memory for payloads: what stands in it crosses the wire without being copied on this side.

#ifndef VERBENA_TRANSPORT_PAYLOAD_MEMORY_H_
#define VERBENA_TRANSPORT_PAYLOAD_MEMORY_H_

#include <cstddef>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/cord.h"

namespace verbena::transport {

class BlockRef;

// Writable memory of a given size. Move-only; gives the memory back when destroyed, unless it became a Cord. Thread:
// any, one at a time.
class PayloadMemory {
 public:
  PayloadMemory();  // Empty: no data, size 0.
  PayloadMemory(PayloadMemory&& other) noexcept;
  PayloadMemory& operator=(PayloadMemory&& other) noexcept;
  ~PayloadMemory();

  std::byte* data() const;
  size_t size() const { return size_; }

  // The bytes as a Cord that shares this memory; give it to set_attachment. The bytes must not be written after this.
  absl::Cord ToCord() &&;

 private:
  friend absl::StatusOr<PayloadMemory> AllocatePayload(size_t size);
  std::unique_ptr<BlockRef> block_;
  size_t size_ = 0;
};

// ResourceExhausted when the process's payload memory limit is reached; the message names the limit and how to raise
// it. Thread: any.
absl::StatusOr<PayloadMemory> AllocatePayload(size_t size);

// The most payload memory that the process maps, in bytes: sent, fetched and kept for reuse. At the limit what is kept
// gives way, but for up to 4 MiB of small blocks that each other event loop has at hand, for some seconds. Thread: any.
void SetPayloadMemoryLimit(size_t bytes);
inline constexpr size_t kPayloadMemoryLimitDefault = size_t{16} << 30;

}  // namespace verbena::transport

#endif  // VERBENA_TRANSPORT_PAYLOAD_MEMORY_H_
