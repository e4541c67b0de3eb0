// What a stream's sender attaches to its messages: some memories in turn.
//
// Owner: the sender; copies share the memory. Thread: one at a time.

#ifndef VERBENA_BENCHMARKS_RPC_BENCH_ATTACHMENT_RING_H_
#define VERBENA_BENCHMARKS_RPC_BENCH_ATTACHMENT_RING_H_

#include <cstddef>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/cord.h"
#include "benchmarks/rpc_bench/echo_call.h"

namespace verbena::benchmarks {

class AttachmentRing {
 public:
  static constexpr size_t kMemories = 8;  // As many as calls with attachments are in flight if nobody says.

  AttachmentRing() = default;  // Of nothing: messages have no attachments.
  // Each of so many bytes; 0: of nothing. ResourceExhausted: no memory.
  static absl::StatusOr<AttachmentRing> Create(size_t bytes) {
    AttachmentRing ring;
    for (size_t i = 0; bytes > 0 && i < kMemories; ++i) {
      absl::StatusOr<absl::Cord> attachment = MakeAttachment(bytes);
      if (!attachment.ok()) return attachment.status();
      ring.attachments_.push_back(*std::move(attachment));
    }
    return ring;
  }

  absl::Cord Next() { return attachments_.empty() ? absl::Cord() : attachments_[next_++ % kMemories]; }

 private:
  std::vector<absl::Cord> attachments_;
  size_t next_ = 0;
};

}  // namespace verbena::benchmarks

#endif  // VERBENA_BENCHMARKS_RPC_BENCH_ATTACHMENT_RING_H_
