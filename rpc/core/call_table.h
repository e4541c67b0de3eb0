// The calls of one session, by call id.
//
// An id is a slot's index (low 32 bits) and its generation (high 32 bits), is never 0, and dies with its call: an id
// that is stale, forged or from another connection finds nothing. A slot's generation is used again after 2^32 - 1
// calls in that slot.
//
// Bounded by `capacity` calls; memory grows to the most calls that were ever there at once and is then recycled, so the
// steady state allocates nothing. Insert, Find, Take and Erase are O(1). A Call* is valid until that call is taken or
// erased, whatever happens to others. Owner and thread: the session's.

#ifndef VERBENA_RPC_CORE_CALL_TABLE_H_
#define VERBENA_RPC_CORE_CALL_TABLE_H_

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace verbena::rpc {

inline constexpr uint32_t CallIndex(uint64_t call_id) { return static_cast<uint32_t>(call_id); }
inline constexpr uint32_t CallGeneration(uint64_t call_id) { return static_cast<uint32_t>(call_id >> 32); }

template <typename Call>
class CallTable {
 public:
  // `capacity` in calls.
  explicit CallTable(uint32_t capacity) : capacity_(capacity) {}
  CallTable(const CallTable&) = delete;
  CallTable& operator=(const CallTable&) = delete;

  // Makes a call in place and returns its id; nullopt when the table is full.
  template <typename... Arguments>
  std::optional<uint64_t> Emplace(Arguments&&... arguments) {
    if (full()) return std::nullopt;
    if (free_ == kNone) AddSlot();
    const uint32_t index = free_;
    Slot& slot = SlotAt(index);
    slot.call.emplace(std::forward<Arguments>(arguments)...);
    free_ = slot.next_free;
    ++size_;
    return IdOf(index);
  }

  // Of an id that a call has now. Find: null if none has.
  Call& At(uint64_t call_id) {
    assert(Find(call_id) != nullptr);
    return *SlotAt(CallIndex(call_id)).call;
  }
  Call* Find(uint64_t call_id) {
    Slot* slot = FindSlot(call_id);
    return slot == nullptr ? nullptr : &*slot->call;
  }

  // Removes the call and hands it over; nullopt: no call has this id now.
  std::optional<Call> Take(uint64_t call_id) {
    Slot* slot = FindSlot(call_id);
    if (slot == nullptr) return std::nullopt;
    std::optional<Call> taken(std::move(slot->call));
    Free(*slot, CallIndex(call_id));
    return taken;
  }

  // Removes and destroys the call. False: no call has this id now.
  [[gnu::always_inline]] bool Erase(uint64_t call_id) {
    Slot* slot = FindSlot(call_id);
    if (slot == nullptr) return false;
    Free(*slot, CallIndex(call_id));
    return true;
  }

  // Calls `visit(id, call)` for every call, in no order that means anything. `visit` may take or erase calls and add
  // new ones; new ones may or may not be visited.
  template <typename Visitor>
  void ForEach(Visitor&& visit) {
    for (uint32_t index = 0; index < slots_; ++index) {
      if (SlotAt(index).call.has_value()) visit(IdOf(index), *SlotAt(index).call);
    }
  }

  size_t size() const { return size_; }
  size_t capacity() const { return capacity_; }
  bool empty() const { return size_ == 0; }
  bool full() const { return size_ == capacity_; }

 private:
  static constexpr uint32_t kNone = 0xffffffff;  // No index: there are 2^32 - 1 calls at most.
  static constexpr uint32_t kSlotsPerChunk = 4;  // A power of two: every look-up divides by it.

  struct Slot {
    std::optional<Call> call;
    uint32_t generation = 1;  // Of the call in it, or of the next one. Never 0.
    uint32_t next_free = kNone;
  };

  Slot& SlotAt(uint32_t index) const { return chunks_[index / kSlotsPerChunk][index % kSlotsPerChunk]; }

  uint64_t IdOf(uint32_t index) const { return uint64_t{SlotAt(index).generation} << 32 | index; }

  Slot* FindSlot(uint64_t call_id) {
    const uint32_t index = CallIndex(call_id);
    if (index >= slots_) return nullptr;
    Slot& slot = SlotAt(index);
    return slot.call.has_value() && slot.generation == CallGeneration(call_id) ? &slot : nullptr;
  }

  void AddSlot() {
    if (slots_ % kSlotsPerChunk == 0) chunks_.push_back(std::make_unique<Slot[]>(kSlotsPerChunk));
    free_ = slots_++;
  }

  void Free(Slot& slot, uint32_t index) {
    // The id dies before the call does: a destructor that looks for its call finds nothing.
    if (++slot.generation == 0) slot.generation = 1;
    slot.call.reset();
    slot.next_free = free_;
    free_ = index;
    --size_;
  }

  // Constant after construction.
  const uint32_t capacity_;

  // Owned by the session.
  std::vector<std::unique_ptr<Slot[]>> chunks_;  // Slots stay in place as the table grows.
  uint32_t slots_ = 0;                           // Made so far.
  uint32_t free_ = kNone;                        // The slot that was freed last: the warmest.
  uint32_t size_ = 0;
};

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_CORE_CALL_TABLE_H_
