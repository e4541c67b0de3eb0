// The server's calls by the ids that their client gives them.
//
// A client's id is a slot's index (low 32 bits) and a generation: indexes are dense if the client is honest, so a call
// is found by indexing. A call whose index is far beyond the number of calls, or taken by a call that has not been
// released yet, stands in a map beside.
//
// Owner and thread: the session's. Memory: in proportion to the most calls that were ever there at once, whatever ids
// the client makes up. No allocation in the steady state of an honest one.

#ifndef VERBENA_RPC_CORE_PEER_CALLS_H_
#define VERBENA_RPC_CORE_PEER_CALLS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "rpc/core/call_table.h"

namespace verbena::rpc {

class PeerCalls {
 public:
  // The local id of the call that the peer calls so; nullopt: there is none.
  std::optional<uint64_t> Find(uint64_t call_id) const {
    const uint32_t index = CallIndex(call_id);
    if (index < slots_.size() && slots_[index].call_id == call_id && slots_[index].local != kFree) {
      return slots_[index].local;
    }
    if (crowded_.empty()) return std::nullopt;
    const auto found = crowded_.find(call_id);
    return found == crowded_.end() ? std::nullopt : std::optional(found->second);
  }

  // Not an id that is there already. `local` is not 0.
  void Add(uint64_t call_id, uint64_t local) {
    const uint32_t index = CallIndex(call_id);
    ++size_;
    if (index >= slots_.size() && index < kIndexesAtLeast + 2 * size_) slots_.resize(index + size_t{1});
    if (index < slots_.size() && slots_[index].local == kFree) {
      slots_[index] = Slot{call_id, local};
    } else {
      crowded_.emplace(call_id, local);
    }
  }

  // An id that is there.
  [[gnu::always_inline]] void Remove(uint64_t call_id) {
    const uint32_t index = CallIndex(call_id);
    --size_;
    if (index < slots_.size() && slots_[index].call_id == call_id && slots_[index].local != kFree) {
      slots_[index].local = kFree;
    } else {
      crowded_.erase(call_id);
    }
  }

 private:
  static constexpr uint64_t kFree = 0;
  static constexpr size_t kIndexesAtLeast = 64;

  struct Slot {
    uint64_t call_id = 0;
    uint64_t local = kFree;
  };

  size_t size_ = 0;
  std::vector<Slot> slots_;                          // By the index in the peer's id.
  absl::flat_hash_map<uint64_t, uint64_t> crowded_;  // By the peer's id.
};

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_CORE_PEER_CALLS_H_
