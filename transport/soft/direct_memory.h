// One-sided access to a peer's registered memory: the initiator checks the responder's published table of regions and
// copies by itself, with process_vm_readv / process_vm_writev, or memcpy when both ends live in one process.
//
// What stands in the peer's heap (shared_heap.h) is READ from a mapping of that, without the kernel.
//
// Each part of a copy is announced in the hazard word of the pair, then the key is checked. Deregistering revokes the
// key, then waits for the hazard words that name it; so no copy touches memory whose deregistration has returned. But
// for one whose process is stopped in the middle of it, for longer than kHazardPatience: a READ looks at the key once
// more when it has all bytes, and fails then.
//
// Owner: the link. Thread: the queue pair's lock.

#ifndef VERBENA_TRANSPORT_SOFT_DIRECT_MEMORY_H_
#define VERBENA_TRANSPORT_SOFT_DIRECT_MEMORY_H_

#include <infiniband/verbs.h>
#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <memory>

#include "absl/types/span.h"
#include "transport/soft/atomic_operation.h"
#include "transport/soft/heap/peer_heap.h"
#include "transport/soft/key_table.h"
#include "transport/soft/shared_layout.h"
#include "transport/soft/shared_mapping.h"

namespace verbena::soft {

// A peer whose hazard word names a revoked key for longer than this is broken: it copies one slice at a time.
inline constexpr std::chrono::seconds kHazardPatience(1);

// A peer that may copy from and into our memory, since it was given our table of regions.
struct Copier {
  pid_t process;
  const HazardLine* hazard;  // Where it says what it copies.
};

// Waits until `peer` does not copy under `key` any more, if only because it has died; kAnyKey: under none. False if it
// still seems to when `deadline` has passed. Blocks; with no lock of the device held.
inline constexpr uint32_t kAnyKey = 0;
bool AwaitEndOfCopies(const Copier& peer, uint32_t key, std::chrono::steady_clock::time_point deadline);

// How a work request, or a part of it, ended.
struct WorkOutcome {
  ibv_wc_status status = IBV_WC_SUCCESS;
  uint32_t vendor_error = 0;  // The errno behind it, where there was one.

  bool ok() const { return status == IBV_WC_SUCCESS; }
};

class DirectMemory {
 public:
  enum class Direction { kRead, kWrite };

  // A word in each process by which the other finds out whether it may read this process' memory, and whether the
  // process id still means the process that made the offer.
  struct Cookie {
    uint64_t address;
    uint64_t value;
  };

  // A process whose memory may be copied by us.
  struct PeerProcess {
    pid_t process;
    uint32_t queue_pair_number;  // At its end of the pair: windows are bound to that.
    std::shared_ptr<SharedMapping> regions;
  };

  // 0 if this process may read the memory of `peer`; else why not, an errno value. ESRCH: it is not the process that
  // the cookie was made in.
  static int Probe(pid_t peer, const Cookie& cookie);

  struct Request {
    Direction direction;
    absl::Span<const ibv_sge> local;  // Checked by the caller; at least `length` bytes in all.
    uint64_t remote_address;
    uint32_t remote_key;
    uint64_t length;
    // The part of `length` to be copied now. The whole is checked each time: a copy that would end badly must not
    // begin.
    uint64_t offset;
    uint64_t part_length;
  };

  // `peer` was probed. `state` is the responder's line of the pair (its domain and what its queue pair allows),
  // `hazard` our own.
  DirectMemory(PeerProcess peer, const StateLine* state, HazardLine* hazard);

  // Copies one part, which had better not be long: deregistration waits for it. Statuses: REM_ACCESS_ERR where key,
  // bounds, domain or access forbid it; REM_OP_ERR where the kernel refuses this process the other one's memory;
  // RETRY_EXC_ERR where its queue pair is closed, or the kernel knows no such process any more, which is abandoned
  // then: it has ended, or its first thread alone has.
  WorkOutcome Copy(const Request& request);

  // The same for an atomic operation on eight bytes, for a peer in this process. What was there before goes to
  // `before`. REM_INV_REQ_ERR where the address is not a multiple of eight.
  WorkOutcome Execute(const AtomicOperation& operation, uint64_t remote_address, uint32_t remote_key, uint64_t* before);
  bool same_process() const { return same_process_; }

  // Whether a READ of that much needs no help of the kernel's: it stands in the peer's heap.
  bool IsMapped(MemoryRange remote) { return FindMapped(remote) != nullptr; }

  // What Copy would say of a READ of that much without copying anything.
  WorkOutcome CheckRead(uint32_t remote_key, MemoryRange remote) const;

  // The peer is gone and its process id may be given to another: every later copy fails.
  void Abandon() {
    abandoned_ = true;
    heap_.Drop();
  }

 private:
  WorkOutcome Check(uint32_t key, MemoryRange range, uint32_t access) const;
  WorkOutcome MoveBytes(const Request& request);
  // Where it is in this process; null: only in the peer's.
  const std::byte* FindMapped(MemoryRange remote);

  const PeerProcess peer_;
  const bool same_process_;
  const StateLine* const state_;
  HazardLine* const hazard_;
  PeerHeap heap_;
  bool abandoned_ = false;
};

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_DIRECT_MEMORY_H_
