// The driver's records of what a machine knows by an id: found by id, recycled, never moved.
//
// Owner: an RdmaConnection. Thread: its loop's. Allocates only to hold more records than ever before; `T::Clear()`
// readies a record for the next use and may keep its memory.

#ifndef VERBENA_TRANSPORT_RECORD_TABLE_H_
#define VERBENA_TRANSPORT_RECORD_TABLE_H_

#include <cstdint>
#include <deque>
#include <vector>

#include "absl/container/flat_hash_map.h"

namespace verbena::transport {

template <typename T>
class RecordTable {
 public:
  // A cleared record for an id that has none. The reference is valid until Free.
  T& Add(uint64_t id) {
    if (free_.empty()) free_.push_back(&records_.emplace_back());
    T* const record = free_.back();
    free_.pop_back();
    by_id_.emplace(id, record);
    return *record;
  }

  // Null for an id that has none.
  T* Find(uint64_t id) const {
    const auto found = by_id_.find(id);
    return found == by_id_.end() ? nullptr : found->second;
  }

  void Free(uint64_t id) {
    const auto found = by_id_.find(id);
    found->second->Clear();
    free_.push_back(found->second);
    by_id_.erase(found);
  }

  // All records, in no order. `function` neither adds nor frees.
  template <typename Function>
  void ForEach(Function function) {
    for (auto& [id, record] : by_id_) function(*record);
  }

  size_t size() const { return by_id_.size(); }

 private:
  std::deque<T> records_;
  std::vector<T*> free_;
  absl::flat_hash_map<uint64_t, T*> by_id_;
};

}  // namespace verbena::transport

#endif  // VERBENA_TRANSPORT_RECORD_TABLE_H_
