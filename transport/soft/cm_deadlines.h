// Deadlines by key: at most one per key, the earliest first. Not thread-safe; guarded by its owner.

#ifndef VERBENA_TRANSPORT_SOFT_CM_DEADLINES_H_
#define VERBENA_TRANSPORT_SOFT_CM_DEADLINES_H_

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace verbena::soft {

class Deadlines {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  // Replaces the key's deadline. True if it is now the earliest of all.
  bool Set(uint64_t key, TimePoint when) {
    Cancel(key);
    by_key_.emplace(key, when);
    auto added = by_time_.emplace(when, key).first;
    return added == by_time_.begin();
  }

  void Cancel(uint64_t key) {
    auto found = by_key_.find(key);
    if (found == by_key_.end()) return;
    by_time_.erase({found->second, key});
    by_key_.erase(found);
  }

  // The key whose deadline passed first, which is then cancelled; nothing if none has passed.
  std::optional<uint64_t> PopExpired(TimePoint now) {
    if (by_time_.empty() || by_time_.begin()->first > now) return std::nullopt;
    uint64_t key = by_time_.begin()->second;
    Cancel(key);
    return key;
  }

  std::optional<TimePoint> Next() const {
    if (by_time_.empty()) return std::nullopt;
    return by_time_.begin()->first;
  }

 private:
  std::map<uint64_t, TimePoint> by_key_;
  std::set<std::pair<TimePoint, uint64_t>> by_time_;  // The same entries.
};

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_CM_DEADLINES_H_
