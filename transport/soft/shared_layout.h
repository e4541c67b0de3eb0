// What two ends of a link see of each other in shared memory, byte for byte.
//
// Five kinds of memory are shared, each a sealed memfd:
//   pair     one for two linked queue pairs: control lines and four byte rings; both ends write it.
//   ready    one for a completion queue: peers set a bit there for a queue pair that has something for it.
//   queues   one for a process: how its completion queues want to be told of news. Peers' mappings are read-only.
//   regions  one for a process: its table of memory regions. Read-only too, and passed on only to peers that may copy
//            from and into this process' memory by themselves (see direct_memory.h).
//   heap     one for a process that has asked for some: memory for its user, to be READ by peers that map it, for that
//            alone. Passed on to nobody: a peer fetches it if the kernel lets it (see heap/shared_heap.h).
//
// The pair alone is enough for everything that two queue pairs do: each end's control lines and rings hold all that the
// other end must know of it. So one end of a pair may be somebody who stands in for a queue pair far away, carrying
// what our end writes over a wire, and writing what comes back. To such an end the doorbells of pair_link.h are local
// calls, and the lines `state.domain`, `state.access` and `hazard`, which only direct copies need, mean nothing.
//
// Each end writes two rings. In its request ring stand the messages and one-sided requests of its send queue. In its
// response ring stand the answers to the other end's READs and atomics: a ring of their own, because a request ring can
// stand still behind a message for which no receive is posted, and answers must not wait for that.
//
// Trust: a peer may write anything, at any time, into memory of the first two kinds. So every value read from them is
// copied once and then checked, an index of our own is never read back, and losing a ready bit costs time, not a
// message: its sender insists (see peer_patience.h), and after each arming some queue pairs are looked at, in turn.
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

inline constexpr uint32_t kQueuePairsMax = 16384;       // Per process.
inline constexpr uint32_t kCompletionQueuesMax = 1024;  // Per process.
inline constexpr uint32_t kMemoryRegionsMax = 65536;    // Per process; windows count too.
inline constexpr size_t kRingBytes = 128 * 1024;        // One direction of one pair.
inline constexpr int kPeerHeapsMax = 256;               // That a process maps: an eighth of its addresses.
inline constexpr size_t kHeapBytes = size_t{64} << 30;  // Per process, of addresses and of the file, which has holes.

static_assert(std::atomic<uint64_t>::is_always_lock_free && std::atomic<uint32_t>::is_always_lock_free);

// A ring's indices. The writer of the ring writes the first, its reader the second.
struct RingTail {
  std::atomic<uint64_t> tail;         // Bytes ever written into the ring, and left out of it.
  std::atomic<uint64_t> restart;      // Where the writer went on the last time that it left the rest of a round out.
  std::atomic<uint32_t> wants_space;  // Ring the writer's doorbell when the ring has room again.
};
struct RingHead {
  std::atomic<uint64_t> head;  // Bytes ever consumed.
};

// Written by an end about the requests that it sends. A request is what has a message number: see record.h.
struct alignas(kCacheLineBytes) RequestSenderLine {
  RingTail ring;
  std::atomic<uint64_t> accept_watch;  // Ring my doorbell when this request is accepted; 0 = not needed.
  std::atomic<uint64_t> probe;         // Grows when the sender wants a sign of life: see `probe_answer`.
  std::atomic<uint32_t> rnr_retry;     // How patient this sender is with a receiver that is not ready; 7 = for ever.
  std::atomic<uint32_t> held_up;       // Not 0: requests, or news of this end, wait for earlier ones' answers.
};

// Written by an end about the requests that it receives.
struct alignas(kCacheLineBytes) RequestReceiverLine {
  RingHead ring;
  std::atomic<uint64_t> accepted;      // Requests ever accepted. Whatever answers them was published before.
  std::atomic<uint64_t> probe_answer;  // The last `probe` after which the ring was looked at, to no avail perhaps.
};

// The same for answers. They are neither accepted nor refused, only consumed.
struct alignas(kCacheLineBytes) ResponseSenderLine {
  RingTail ring;
};
struct alignas(kCacheLineBytes) ResponseReceiverLine {
  RingHead ring;
};

// What one end says about its queue pair.
struct alignas(kCacheLineBytes) StateLine {
  std::atomic<uint32_t> closed;  // In ERR or destroyed: it will never accept anything again.
  std::atomic<uint32_t> domain;  // Number of its protection domain.
  std::atomic<uint32_t> access;  // Its qp_access_flags: which one-sided operations it allows.
  // 0, or the ibv_wc_status that the request after RequestReceiverLine::accepted gets at its sender. Here because a
  // sender looks for it with every poll, and the other line changes with every request.
  std::atomic<uint32_t> refusal;
};

// The key under which this end is copying from or into the other's memory; 0 = none.
struct alignas(kCacheLineBytes) HazardLine {
  std::atomic<uint32_t> key;
};

struct EndControl {
  RequestSenderLine requests_out;
  RequestReceiverLine requests_in;
  ResponseSenderLine responses_out;
  ResponseReceiverLine responses_in;
  StateLine state;
  HazardLine hazard;
};

struct PairControl {
  EndControl ends[2];  // 0: the end that made the offer.
};

// Of a request ring, as much as there is room for beside the control lines in their page.
inline constexpr size_t kRingBytesBesideControl = (kPageBytes - sizeof(PairControl)) / 2;
static_assert(kRingBytesBesideControl % kCacheLineBytes == 0);

// A ring is numbered by the end that writes it. One mapping shows all: a process has a limited number of mappings
// (vm.max_map_count), and thousands of pairs. Pages never touched, as those of response rings mostly are, cost nothing.
//
// Of a pair that small messages pass now and then one page is touched: the one of the control lines, before which the
// second request ring has its last bytes, where it begins (see RingBytes), and behind which the first has its first.
struct PairMemory {
  alignas(kPageBytes) std::byte unused[kRingBytesBesideControl];
  std::byte second_request_ring[kRingBytes];
  PairControl control;
  std::byte first_request_ring[kRingBytes];
  std::byte response_rings[2][kRingBytes];

  std::byte* request_ring(int end) { return end == 0 ? first_request_ring : second_request_ring; }
};
static_assert(offsetof(PairMemory, control) % kPageBytes == kRingBytesBesideControl);
static_assert(kRingBytes % kPageBytes == 0);

// See ready_map.h. A bit of the summary stands for a group of words, one behind the other.
inline constexpr uint32_t kReadyWords = kQueuePairsMax / 64;
inline constexpr uint32_t kReadyWordsOfGroup = kReadyWords / 64;
struct ReadyMemory {
  alignas(kCacheLineBytes) std::atomic<uint64_t> summary;
  alignas(kCacheLineBytes) std::atomic<uint64_t> words[kReadyWords];
};
static_assert(kReadyWordsOfGroup * 64 * 64 == kQueuePairsMax);
static_assert(sizeof(ReadyMemory) <= kPageBytes);

struct alignas(kCacheLineBytes) PublishedQueue {
  std::atomic<uint64_t> armed;    // See armed_word.h.
  std::atomic<uint32_t> watched;  // 1 + index of the queue pair that polls look at without being told; 0 = none.
};

struct QueuesMemory {
  PublishedQueue queues[kCompletionQueuesMax];
};

// A memory region, or a memory window that is bound.
struct PublishedRegion {
  std::atomic<uint32_t> key;  // 0: none. Everything else is valid only while this does not change.
  std::atomic<uint32_t> domain;
  std::atomic<uint64_t> address;
  std::atomic<uint64_t> length;
  std::atomic<uint32_t> access;      // ibv_access_flags.
  std::atomic<uint32_t> queue_pair;  // A window: the number of the one it is bound to. A region: 0.
};

// Where the heap is in its owner's process. Written once, the descriptor last, but for `used`.
struct alignas(kCacheLineBytes) PublishedHeap {
  std::atomic<uint64_t> address;
  std::atomic<uint64_t> file;        // Its inode number.
  std::atomic<uint64_t> used;        // Bytes from its beginning, in which all is that was ever given out.
  std::atomic<uint32_t> descriptor;  // 1 + that of the file in the owner's process; 0: there is no heap yet.
};

struct PublishedMemory {
  PublishedHeap heap;
  PublishedRegion regions[kMemoryRegionsMax];
};

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_SHARED_LAYOUT_H_
