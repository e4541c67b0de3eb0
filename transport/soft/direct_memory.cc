#include "transport/soft/direct_memory.h"

#include <poll.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>

#include "transport/soft/heap/copy_forward.h"
#include "transport/soft/receive_queue.h"
#include "transport/soft/unique_fd.h"

namespace verbena::soft {
namespace {

// Says under which key we are about to copy, for as long as it lives.
class Hazard {
 public:
  Hazard(HazardLine* line, uint32_t key) : line_(line) { line_->key.store(key); }
  ~Hazard() { line_->key.store(0, std::memory_order_release); }
  Hazard(const Hazard&) = delete;
  Hazard& operator=(const Hazard&) = delete;

 private:
  HazardLine* const line_;
};

// The part of a scatter / gather list that holds bytes [offset, offset + length).
struct LocalParts {
  std::array<iovec, kSegmentsMax> parts;
  size_t count = 0;

  LocalParts(absl::Span<const ibv_sge> segments, uint64_t offset, uint64_t length) {
    for (const ibv_sge& segment : segments) {
      if (length == 0) return;
      if (offset >= segment.length) {
        offset -= segment.length;
        continue;
      }
      uint64_t bytes = std::min<uint64_t>(segment.length - offset, length);
      parts[count++] = {.iov_base = reinterpret_cast<void*>(segment.addr + offset), .iov_len = bytes};
      length -= bytes;
      offset = 0;
    }
  }
};

void CopyWithinProcess(DirectMemory::Direction direction, const LocalParts& local, uint64_t remote_address) {
  auto* remote = reinterpret_cast<std::byte*>(remote_address);
  for (size_t i = 0; i < local.count; ++i) {
    const iovec& part = local.parts[i];
    bool read = direction == DirectMemory::Direction::kRead;
    std::memmove(read ? part.iov_base : remote, read ? remote : part.iov_base, part.iov_len);
    remote += part.iov_len;
  }
}

void CopyFromMapping(const LocalParts& local, const std::byte* from) {
  for (size_t i = 0; i < local.count; ++i) {
    const iovec& part = local.parts[i];
    CopyForward(static_cast<std::byte*>(part.iov_base), from, part.iov_len);
    from += part.iov_len;
  }
}

// Whether no thread of the process runs any more; false if the kernel does not say.
bool HasEnded(pid_t process) {
  UniqueFd handle(static_cast<int>(syscall(SYS_pidfd_open, process, 0)));
  if (!handle.valid()) return errno == ESRCH;
  pollfd end = {.fd = handle.get(), .events = POLLIN, .revents = 0};
  return poll(&end, 1, 0) == 1;
}

WorkOutcome OutcomeOfErrno(int error) {
  ibv_wc_status status = error == ESRCH ? IBV_WC_RETRY_EXC_ERR : IBV_WC_REM_OP_ERR;
  return {.status = status, .vendor_error = static_cast<uint32_t>(error)};
}

}  // namespace

bool AwaitEndOfCopies(const Copier& peer, uint32_t key, std::chrono::steady_clock::time_point deadline) {
  while (uint32_t copied = peer.hazard->key.load()) {
    if ((key != kAnyKey && copied != key) || HasEnded(peer.process)) return true;
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::yield();  // One slice of a copy takes microseconds.
  }
  return true;
}

int DirectMemory::Probe(pid_t peer, const Cookie& cookie) {
  if (peer == getpid()) return 0;
  uint64_t value = 0;
  iovec local = {.iov_base = &value, .iov_len = sizeof(value)};
  iovec remote = {.iov_base = reinterpret_cast<void*>(cookie.address), .iov_len = sizeof(value)};
  ssize_t copied = process_vm_readv(peer, &local, 1, &remote, 1, 0);
  if (copied < 0) return errno;
  return copied == sizeof(value) && value == cookie.value ? 0 : ESRCH;
}

DirectMemory::DirectMemory(PeerProcess peer, const StateLine* state, HazardLine* hazard)
    : peer_(std::move(peer)),
      same_process_(peer_.process == getpid()),
      state_(state),
      hazard_(hazard),
      heap_(peer_.process) {}

WorkOutcome DirectMemory::Copy(const Request& request) {
  if (abandoned_) return OutcomeOfErrno(ESRCH);
  Hazard hazard(hazard_, request.remote_key);
  uint32_t access = request.direction == Direction::kRead ? IBV_ACCESS_REMOTE_READ : IBV_ACCESS_REMOTE_WRITE;
  WorkOutcome outcome = Check(request.remote_key, {request.remote_address, request.length}, access);
  if (outcome.ok()) outcome = MoveBytes(request);
  if (!outcome.ok() || same_process_ || request.direction == Direction::kWrite) return outcome;
  // Who was stopped in between, for longer than the peer waits for the hazard word, may have read memory that was used
  // for something else by then, and nothing says so but the key. It is looked at when all bytes are here,
  // which the exchange sees to (a fence is nothing that ThreadSanitizer knows).
  hazard_->key.exchange(request.remote_key);
  return Check(request.remote_key, {request.remote_address, request.length}, access);
}

WorkOutcome DirectMemory::Execute(const AtomicOperation& operation, uint64_t remote_address, uint32_t remote_key,
                                  uint64_t* before) {
  if (abandoned_) return OutcomeOfErrno(ESRCH);
  if (!IsAtomicAddress(remote_address)) return {.status = IBV_WC_REM_INV_REQ_ERR};
  Hazard hazard(hazard_, remote_key);
  WorkOutcome outcome = Check(remote_key, {remote_address, kAtomicBytes}, IBV_ACCESS_REMOTE_ATOMIC);
  if (outcome.ok()) *before = soft::Execute(operation, remote_address);
  return outcome;
}

WorkOutcome DirectMemory::CheckRead(uint32_t remote_key, MemoryRange remote) const {
  return abandoned_ ? OutcomeOfErrno(ESRCH) : Check(remote_key, remote, IBV_ACCESS_REMOTE_READ);
}

WorkOutcome DirectMemory::Check(uint32_t key, MemoryRange range, uint32_t access) const {
  bool queue_pair_allows = (state_->access.load() & access) == access && state_->closed.load() == 0;
  KeyUser user = {.domain = state_->domain.load(), .queue_pair = peer_.queue_pair_number};
  if (!queue_pair_allows || !KeyAllows(peer_.regions->published(), key, user, range, access)) {
    return {.status = state_->closed.load() != 0 ? IBV_WC_RETRY_EXC_ERR : IBV_WC_REM_ACCESS_ERR};
  }
  return {};
}

const std::byte* DirectMemory::FindMapped(MemoryRange remote) {
  return same_process_ ? nullptr : heap_.Find(peer_.regions->published().heap, remote);
}

WorkOutcome DirectMemory::MoveBytes(const Request& request) {
  LocalParts local(request.local, request.offset, request.part_length);
  const uint64_t address = request.remote_address + request.offset;
  if (same_process_) {
    CopyWithinProcess(request.direction, local, address);
    return {};
  }
  if (request.direction == Direction::kRead) {
    if (const std::byte* from = FindMapped({.address = address, .length = request.part_length}); from != nullptr) {
      CopyFromMapping(local, from);
      return {};
    }
  }
  iovec remote = {.iov_base = reinterpret_cast<void*>(address), .iov_len = request.part_length};
  ssize_t copied = request.direction == Direction::kRead
                       ? process_vm_readv(peer_.process, local.parts.data(), local.count, &remote, 1, 0)
                       : process_vm_writev(peer_.process, local.parts.data(), local.count, &remote, 1, 0);
  if (copied < 0) {
    int error = errno;
    if (error == ESRCH) Abandon();
    return OutcomeOfErrno(error);
  }
  // Registered, but not mapped any more.
  if (static_cast<uint64_t>(copied) != request.part_length) return OutcomeOfErrno(EFAULT);
  return {};
}

}  // namespace verbena::soft
