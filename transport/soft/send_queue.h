// Posted send-queue work in order of posting, until it is completed.
//
// Indices walk the same ring: head (oldest not completed), unsent (oldest not handed over), tail; between head and
// unsent, the oldest that waits for an answer; and behind unsent, how far requests have gone ahead of their turn.
// Bounded by the capacity it was made with; memory grows to the most requests that were ever there at once, since most
// connections never have as many as they may: by doubling, while somebody posts. No lock: the queue pair's.

#ifndef VERBENA_TRANSPORT_SOFT_SEND_QUEUE_H_
#define VERBENA_TRANSPORT_SOFT_SEND_QUEUE_H_

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "absl/types/span.h"
#include "transport/soft/direct_memory.h"
#include "transport/soft/key_table.h"
#include "transport/soft/ring_index.h"
#include "transport/soft/untouched_array.h"

namespace verbena::soft {

// Carried out by this end alone: no bytes move, and what the request says of segments does not count.
inline bool IsLocalOperation(ibv_wr_opcode opcode) { return opcode == IBV_WR_LOCAL_INV || opcode == IBV_WR_BIND_MW; }

// Faults on purpose that befall a request while it is carried out: see fault_plan.h.
struct PlannedFaults {
  ibv_wc_status failure = IBV_WC_SUCCESS;  // Instead of being carried out.
  bool drops_empty = false;                // A SEND of no bytes is done without being sent.
  uint32_t bytes_per_turn = 0;             // Of the request, in one Advance; 0 = as many as usual.

  bool any() const { return failure != IBV_WC_SUCCESS || drops_empty || bytes_per_turn != 0; }
};

struct SendEntry {
  enum class State : uint8_t {
    kQueued,  // Waits for its turn, or for room in the ring, or is fetched part by part.
    kSent,    // In the ring; the peer's acceptance completes it, or its answer.
    kDone,    // `outcome` is known; completed when everything before it is.
  };

  // Of a one-sided request whose bytes we can copy by ourselves.
  enum class DirectCopy : uint8_t {
    kNotDone,
    kDone,
    kNotAllowed,  // The request goes to the peer, which is to refuse it by itself, or to carry it out.
  };

  uint64_t wr_id;
  State state;
  DirectCopy direct_copy;
  ibv_wr_opcode opcode;
  bool signaled;
  bool solicited;
  bool fenced;  // Begins when every earlier READ and atomic is answered.
  bool is_inline;
  bool checked;         // The local segments' keys are good.
  bool answered;        // Every byte of the answer is here.
  uint8_t answers_due;  // Requests for it in the ring that are not answered: of a READ in parts, several.
  uint32_t immediate;   // Or the key to invalidate; as in the work request.
  uint32_t remote_key;
  uint64_t remote_address;
  uint64_t operand;         // Of an atomic: to add, or to compare with.
  uint64_t swap;            // Of a compare and swap.
  uint64_t length;          // Bytes.
  uint64_t fetched_bytes;   // Of `length`, copied directly, or asked of the peer that answers.
  uint64_t sent_bytes;      // Of `length`, in the ring.
  uint64_t received_bytes;  // Of `fetched_bytes`, those that are here.
  uint64_t number;          // Of the request in the ring, or of its newest part; 0 = not yet given, or never.
  WindowBinding binding;    // IBV_WR_BIND_MW only.
  WorkOutcome outcome;
  PlannedFaults planned;
  absl::Span<ibv_sge> segments;

  bool begun() const { return number != 0 || fetched_bytes != 0; }
};

// They stand in memory from malloc, one behind the other.
static_assert(std::is_trivially_copyable_v<SendEntry> && std::is_trivially_destructible_v<SendEntry>);
static_assert(alignof(SendEntry) <= alignof(std::max_align_t) && sizeof(SendEntry) % alignof(ibv_sge) == 0);

class SendQueue {
 public:
  SendQueue(uint32_t capacity, uint32_t segments_max, uint32_t inline_bytes_max);

  // 0; EINVAL: the request is beyond what was granted, or binds something that is no window; EPERM: it binds across
  // protection domains.
  int Check(const ibv_send_wr& request) const;

  // Appends a copy of `request`. An inline request still refers to the caller's memory until KeepInlineBytes.
  // Memory for so many more, for which there must be free places. False: the system has none. Entries may move.
  bool Reserve(size_t count) { return tail_ - head_ + count <= index_.places() || Grow(count); }
  // 0; as Check; ENOMEM: full, or as Reserve.
  int Append(const ibv_send_wr& request, bool signaled);

  // Copies the bytes of inline requests that are not handed over yet: the caller gets his memory back.
  void KeepInlineBytes();

  bool empty() const { return head_ == tail_; }
  bool full() const { return free_places() == 0; }
  uint32_t free_places() const { return capacity_ - static_cast<uint32_t>(tail_ - head_); }
  bool has_unsent() const { return unsent_ != tail_; }
  SendEntry& head() { return Entry(head_); }
  SendEntry& first_unsent() { return Entry(unsent_); }

  SendEntry& newest() { return Entry(tail_ - 1); }

  // Whether everything that was begun is completed.
  bool nothing_begun() const { return head_ == unsent_ && (unsent_ == tail_ || !Entry(head_).begun()); }

  // The oldest READ or atomic, asked for wholly or in part, to which an answer is due. There is one.
  SendEntry& oldest_unanswered();

  void PopHead();
  // The first unsent request is handed over: it is in the ring, or done.
  void AdvanceUnsent();

  // Of the requests behind the first unsent one, the first that PassAhead has not passed; null if there is none.
  SendEntry* next_ahead();
  void PassAhead() { ++ahead_; }

  // Signaled requests that are handed over and not completed.
  uint32_t signaled_handed_over() const { return signaled_handed_over_; }
  // The number of the request with whose acceptance the oldest of them completes that waits for one later than
  // `accepted`: it is that request itself, or is done and behind it. 0 if there is none.
  uint64_t FirstSignaledAfter(uint64_t accepted);

  uint32_t capacity() const { return capacity_; }
  uint32_t segments_max() const { return segments_max_; }
  uint32_t inline_bytes_max() const { return inline_bytes_max_; }

 private:
  void AppendLocal(const ibv_send_wr& request, bool signaled);
  bool Grow(size_t count);

  std::byte* Slot(uint64_t count) { return &slots_[index_[count] * slot_bytes_]; }
  SendEntry& Entry(uint64_t count) { return *reinterpret_cast<SendEntry*>(Slot(count)); }
  const SendEntry& Entry(uint64_t count) const { return const_cast<SendQueue*>(this)->Entry(count); }
  ibv_sge* SegmentsOf(uint64_t count) { return reinterpret_cast<ibv_sge*>(Slot(count) + sizeof(SendEntry)); }
  std::byte* InlineBytesOf(uint64_t count) { return Slot(count) + sizeof(SendEntry) + segments_max_ * sizeof(ibv_sge); }

  const uint32_t capacity_;
  const uint32_t segments_max_;
  const uint32_t inline_bytes_max_;
  RingIndex index_;
  // Of each request its entry, its segments and its inline bytes, together: few of them are used, in few pages.
  const size_t slot_bytes_;
  UntouchedArray<std::byte> slots_;
  uint64_t head_ = 0;
  uint64_t unsent_ = 0;
  uint64_t tail_ = 0;
  uint64_t ahead_ = 0;       // What is before it and behind unsent_ was looked at for going ahead.
  uint64_t unanswered_ = 0;  // Nothing before it waits for an answer.
  uint32_t signaled_handed_over_ = 0;
  uint64_t kept_ = 0;  // Inline bytes before this entry are kept, or handed over.
};

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_SEND_QUEUE_H_
