// What two processes see of each other in shared memory, byte for byte.
//
// Three kinds of memory are shared, each a sealed memfd:
//   pair       one for two linked queue pairs: control lines and two byte rings; both ends write it.
//   ready      one for a completion queue: peers set a bit there for a queue pair that has something for it.
//   published  one for a process: armed words of its completion queues and its table of memory regions; only its owner
//              can write it, a peer's mapping is read-only.
//
// Trust: a peer may write anything, at any time, into memory of the first two kinds. So every value read from them is
// copied once and then checked, an index of our own is never read back, and losing a ready bit costs time, not a
// message (CompletionQueue scans after it was armed).
//
// Every word is an atomic, lock-free in every process that maps it.

#ifndef VERBENA_TRANSPORT_SOFT_SHARED_LAYOUT_H_
#define VERBENA_TRANSPORT_SOFT_SHARED_LAYOUT_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace verbena::soft {

inline constexpr size_t kPageBytes = 4096;
inline constexpr size_t kCacheLineBytes = 64;

inline constexpr uint32_t kQueuePairsMax = 4096;        // Per process.
inline constexpr uint32_t kCompletionQueuesMax = 1024;  // Per process.
inline constexpr uint32_t kMemoryRegionsMax = 65536;    // Per process.
inline constexpr size_t kRingBytes = 128 * 1024;        // One direction of one pair.

static_assert(std::atomic<uint64_t>::is_always_lock_free && std::atomic<uint32_t>::is_always_lock_free);

// Written by the end that sends.
struct alignas(kCacheLineBytes) ProducerLine {
  std::atomic<uint64_t> tail;          // Bytes ever written into the ring.
  std::atomic<uint64_t> accept_watch;  // Ring my doorbell when this message is accepted; 0 = not needed.
  std::atomic<uint32_t> wants_space;   // Ring my doorbell when the ring has room again.
  std::atomic<uint32_t> rnr_retry;     // How patient this sender is with a receiver that is not ready; 7 = for ever.
};

// Written by the end that receives.
struct alignas(kCacheLineBytes) ConsumerLine {
  std::atomic<uint64_t> head;      // Bytes ever consumed.
  std::atomic<uint64_t> accepted;  // Messages ever accepted.
  std::atomic<uint32_t> refusal;   // 0, or the ibv_wc_status that the message after `accepted` gets at its sender.
};

// What one end says about its queue pair.
struct alignas(kCacheLineBytes) StateLine {
  std::atomic<uint32_t> closed;  // In ERR or destroyed: it will never accept anything again.
  std::atomic<uint32_t> domain;  // Number of its protection domain.
  std::atomic<uint32_t> access;  // Its qp_access_flags: which one-sided operations it allows.
};

// The key under which this end is copying from or into the other's memory; 0 = none.
struct alignas(kCacheLineBytes) HazardLine {
  std::atomic<uint32_t> key;
};

struct EndControl {
  ProducerLine producer;
  ConsumerLine consumer;
  StateLine state;
  HazardLine hazard;
};

struct PairControl {
  EndControl ends[2];  // 0: the end that made the offer.
};
static_assert(sizeof(PairControl) <= kPageBytes);

// The file holds control page, ring of end 0, ring of end 1; a mapping shows each ring twice, back to back, so that a
// record never has to be cut at the end of its ring.
struct PairMemory {
  alignas(kPageBytes) PairControl control;
  alignas(kPageBytes) std::byte rings[2][2 * kRingBytes];
};
inline constexpr size_t kPairFileBytes = kPageBytes + 2 * kRingBytes;

// See ready_map.h.
struct ReadyMemory {
  alignas(kCacheLineBytes) std::atomic<uint64_t> summary;
  alignas(kCacheLineBytes) std::atomic<uint64_t> words[kQueuePairsMax / 64];
};
static_assert(sizeof(ReadyMemory) <= kPageBytes);

// See armed_word.h.
struct alignas(kCacheLineBytes) PublishedQueue {
  std::atomic<uint64_t> armed;
};

struct PublishedRegion {
  std::atomic<uint32_t> key;  // 0: no region. Everything else is valid only while this does not change.
  std::atomic<uint32_t> domain;
  std::atomic<uint64_t> address;
  std::atomic<uint64_t> length;
  std::atomic<uint32_t> access;  // ibv_access_flags.
};

struct PublishedMemory {
  PublishedQueue queues[kCompletionQueuesMax];
  PublishedRegion regions[kMemoryRegionsMax];
};

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_SHARED_LAYOUT_H_
