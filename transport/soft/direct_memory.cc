#include "transport/soft/direct_memory.h"

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "transport/soft/key_table.h"
#include "transport/soft/receive_queue.h"

namespace verbena::soft {
namespace {

// Keys are checked again for each slice, so that a deregistration waits for one slice at most.
constexpr uint64_t kSliceBytesMax = 1024 * 1024;

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

WorkOutcome OutcomeOfErrno(int error) {
  ibv_wc_status status = error == ESRCH ? IBV_WC_RETRY_EXC_ERR : IBV_WC_REM_OP_ERR;
  return {.status = status, .vendor_error = static_cast<uint32_t>(error)};
}

}  // namespace

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
    : peer_(std::move(peer)), same_process_(peer_.process == getpid()), state_(state), hazard_(hazard) {}

WorkOutcome DirectMemory::Copy(const Request& request) {
  if (abandoned_) return OutcomeOfErrno(ESRCH);
  for (uint64_t offset = 0; offset < request.length; offset += kSliceBytesMax) {
    uint64_t length = std::min(request.length - offset, kSliceBytesMax);
    hazard_->key.store(request.remote_key);
    WorkOutcome outcome = CopySlice(request, offset, length);
    hazard_->key.store(0, std::memory_order_release);
    if (!outcome.ok()) return outcome;
  }
  return {};
}

// The whole range is checked each time: a copy that would end badly must not begin.
WorkOutcome DirectMemory::CopySlice(const Request& request, uint64_t offset, uint64_t length) {
  uint32_t access = request.direction == Direction::kRead ? IBV_ACCESS_REMOTE_READ : IBV_ACCESS_REMOTE_WRITE;
  bool queue_pair_allows = (state_->access.load() & access) == access && state_->closed.load() == 0;
  MemoryRange range = {.address = request.remote_address, .length = request.length};
  KeyUser user = {.domain = state_->domain.load(), .queue_pair = peer_.queue_pair_number};
  if (!queue_pair_allows || !KeyAllows(peer_.regions->published(), request.remote_key, user, range, access)) {
    return {.status = state_->closed.load() != 0 ? IBV_WC_RETRY_EXC_ERR : IBV_WC_REM_ACCESS_ERR};
  }
  return MoveBytes(request, offset, length);
}

WorkOutcome DirectMemory::MoveBytes(const Request& request, uint64_t offset, uint64_t length) {
  LocalParts local(request.local, offset, length);
  if (same_process_) {
    CopyWithinProcess(request.direction, local, request.remote_address + offset);
    return {};
  }
  iovec remote = {.iov_base = reinterpret_cast<void*>(request.remote_address + offset), .iov_len = length};
  ssize_t copied = request.direction == Direction::kRead
                       ? process_vm_readv(peer_.process, local.parts.data(), local.count, &remote, 1, 0)
                       : process_vm_writev(peer_.process, local.parts.data(), local.count, &remote, 1, 0);
  if (copied < 0) return OutcomeOfErrno(errno);
  if (static_cast<uint64_t>(copied) != length) return OutcomeOfErrno(EFAULT);  // Registered, but not mapped any more.
  return {};
}

}  // namespace verbena::soft
