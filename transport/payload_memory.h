// Registered memory for payloads: what stands in it crosses the wire without being copied on this side.

#ifndef VERBENA_TRANSPORT_PAYLOAD_MEMORY_H_
#define VERBENA_TRANSPORT_PAYLOAD_MEMORY_H_

#include <cstddef>

#include "absl/status/statusor.h"
#include "absl/strings/cord.h"
#include "absl/types/span.h"

namespace verbena::transport {

class PayloadBlock;

// Writable memory of a given size. Move-only; gives the memory back when destroyed, unless it became a Cord. Thread:
// any, one at a time.
class PayloadMemory {
 public:
  PayloadMemory() = default;
  PayloadMemory(PayloadMemory&& other) noexcept;
  PayloadMemory& operator=(PayloadMemory&& other) noexcept;
  ~PayloadMemory();

  std::byte* data() const;
  size_t size() const { return size_; }

  // The bytes as a Cord that shares this memory; give it to set_attachment. The bytes must not be written after this.
  absl::Cord ToCord() &&;

 private:
  friend absl::StatusOr<PayloadMemory> AllocatePayload(size_t size);
  PayloadBlock* block_ = nullptr;
  size_t size_ = 0;
};

// ResourceExhausted when the process's payload memory limit is reached; the message names the limit and the option.
absl::StatusOr<PayloadMemory> AllocatePayload(size_t size);

}  // namespace verbena::transport

#endif  // VERBENA_TRANSPORT_PAYLOAD_MEMORY_H_
