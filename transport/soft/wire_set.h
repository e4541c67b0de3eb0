// The wires of the queue pairs of one completion queue: which of them must be looked at.
//
// Few are all looked at, each by a read of its own; of many, those that are readable are asked for first.
//
// Owner: a completion queue. Thread: its progress lock, but for Mute, any() and looks_at_all().

#ifndef VERBENA_TRANSPORT_SOFT_WIRE_SET_H_
#define VERBENA_TRANSPORT_SOFT_WIRE_SET_H_

#include <sys/epoll.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "transport/soft/unique_fd.h"

namespace verbena::soft {

class WireSet {
 public:
  // 0 or an errno value.
  int Add(uint32_t queue_pair_index, int descriptor);
  void Remove(uint32_t queue_pair_index);
  // The descriptor says nothing any more. After Add for it returned.
  void Mute(int descriptor);

  bool any() const { return count_.load(std::memory_order_relaxed) != 0; }
  bool looks_at_all() const { return count_.load(std::memory_order_relaxed) <= kAllMax; }

  // Calls visit(index) for each queue pair that is to be looked at.
  template <typename Visit>
  void ForEachToLookAt(Visit visit) {
    if (looks_at_all()) {
      for (uint32_t index : indices_) visit(index);
      return;
    }
    std::array<epoll_event, kReadableMax> readable;
    int count = epoll_wait(epoll_.get(), readable.data(), kReadableMax, 0);
    for (int i = 0; i < count; ++i) visit(readable[static_cast<size_t>(i)].data.u32);
  }

 private:
  static constexpr size_t kAllMax = 4;     // One more read that finds nothing costs what asking costs.
  static constexpr int kReadableMax = 64;  // In one look.

  UniqueFd epoll_;  // From the first Add on.
  std::vector<uint32_t> indices_;
  std::atomic<size_t> count_{0};  // Of indices_.
};

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_WIRE_SET_H_
