// The driver's records of what a machine knows by an id: found by id, recycled, never moved.
//
// An id is a slot of the machine's (its low 32 bits) and a generation, so a record is found by indexing with the slot.
// The machine may use a slot again while its last report about the old id is still queued; such a younger record waits
// in a map beside the slots.
//
// Owner: an RdmaConnection. Thread: its loop's. Allocates only to hold more records than ever before; `T::Clear()`
// readies a record for the next use and may keep its memory.

#ifndef VERBENA_TRANSPORT_RECORD_TABLE_H_
#define VERBENA_TRANSPORT_RECORD_TABLE_H_

#include <array>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"

namespace verbena::transport {

template <typename T>
class RecordTable {
 public:
  // A cleared record for an id that has none. The reference is valid until Free.
  T& Add(uint64_t id) {
    if (free_.empty()) free_.push_back(records_.emplace_back(std::make_unique<T>()).get());
    T* const record = free_.back();
    free_.pop_back();
    Slot& slot = GrownSlotOf(id);
    if (slot.record == nullptr) {
      slot = Slot{id, record};
    } else {
      crowded_.emplace(id, record);
    }
    ++size_;
    return *record;
  }

  // Null for an id that has none.
  T* Find(uint64_t id) {
    std::vector<Slot>& slots = slots_[TagOf(id)];
    if (IndexOf(id) < slots.size() && slots[IndexOf(id)].id == id) return slots[IndexOf(id)].record;
    if (crowded_.empty()) return nullptr;
    const auto found = crowded_.find(id);
    return found == crowded_.end() ? nullptr : found->second;
  }

  // Of an id that has a record.
  void Free(uint64_t id) {
    Slot& slot = slots_[TagOf(id)][IndexOf(id)];
    if (slot.id == id) {
      Recycle(std::exchange(slot, Slot()).record);
    } else {
      Recycle(crowded_.extract(id).mapped());
    }
  }

  // All records, in no order. `function` neither adds nor frees.
  template <typename Function>
  void ForEach(Function function) {
    for (std::vector<Slot>& slots : slots_) {
      for (Slot& slot : slots) {
        if (slot.record != nullptr) function(*slot.record);
      }
    }
    for (auto& [id, record] : crowded_) function(*record);
  }

  size_t size() const { return size_; }

 private:
  struct Slot {
    uint64_t id = 0;  // 0 is no id.
    T* record = nullptr;
  };

  // A machine tells its tables apart by the two bits above the index (protocol/slot_table.h).
  static constexpr uint32_t kIndexBits = 30;
  static uint32_t IndexOf(uint64_t id) { return static_cast<uint32_t>(id) & ((uint32_t{1} << kIndexBits) - 1); }
  static uint32_t TagOf(uint64_t id) { return static_cast<uint32_t>(id) >> kIndexBits; }

  void Recycle(T* record) {
    record->Clear();
    free_.push_back(record);
    --size_;
  }

  Slot& GrownSlotOf(uint64_t id) {
    std::vector<Slot>& slots = slots_[TagOf(id)];
    if (IndexOf(id) >= slots.size()) slots.resize(IndexOf(id) + 1);
    return slots[IndexOf(id)];
  }

  std::vector<std::unique_ptr<T>> records_;
  std::vector<T*> free_;
  std::array<std::vector<Slot>, 4> slots_;  // By tag, then index.
  absl::flat_hash_map<uint64_t, T*> crowded_;
  size_t size_ = 0;
};

}  // namespace verbena::transport

#endif  // VERBENA_TRANSPORT_RECORD_TABLE_H_
