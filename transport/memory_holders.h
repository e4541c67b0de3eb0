// Who holds the memory of one of a poll group's budgets, exported or landing, and which connections are to go when
// others have waited too long for some.
//
// A connection makes progress when something of what it holds is released: its peer has finished an export (nothing
// else of a fetch is seen on that side), or one of its messages has been fetched; and when as much has been read as
// would have all that it holds fetched within sixteen times the time that others wait.
//
// Owner: a poll group. Thread: its loop's.

#ifndef VERBENA_TRANSPORT_MEMORY_HOLDERS_H_
#define VERBENA_TRANSPORT_MEMORY_HOLDERS_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/time/time.h"

namespace verbena::transport {

class MemoryHolders {
 public:
  struct Holder {
    uint32_t link = 0;   // The poll group's number of the connection's link.
    uint64_t bytes = 0;  // Taken and not released, quarantine included.
  };

  void OnTaken(uint32_t link, uint64_t bytes, absl::Time now) {
    if (link >= holdings_.size()) holdings_.resize(link + 1);
    Holding& holding = holdings_[link];
    if (holding.bytes == 0) holding.progress = now;
    holding.bytes += bytes;
  }
  // Finished, given up, or the connection is at its end.
  void OnReleased(uint32_t link, uint64_t bytes, absl::Time now) {
    holdings_[link].bytes -= bytes;
    holdings_[link].progress = now;
  }

  // Of what it holds so many bytes have been read.
  void OnRead(uint32_t link, uint64_t bytes, absl::Time now) {
    Holding& holding = holdings_[link];
    holding.read_bytes += bytes;
    if (holding.read_bytes < holding.bytes / kWaits) return;
    holding.read_bytes = 0;
    holding.progress = now;
  }

  // Those without progress since `since`, the one that holds most first.
  std::vector<Holder> Stalled(absl::Time since) const {
    std::vector<Holder> stalled;
    for (uint32_t link = 0; link < holdings_.size(); ++link) {
      const Holding& holding = holdings_[link];
      if (holding.bytes > 0 && holding.progress <= since) stalled.push_back({link, holding.bytes});
    }
    std::stable_sort(stalled.begin(), stalled.end(),
                     [](const Holder& one, const Holder& other) { return one.bytes > other.bytes; });
    return stalled;
  }

 private:
  static constexpr uint64_t kWaits = 16;

  struct Holding {
    uint64_t bytes = 0;       // 0: it is none.
    uint64_t read_bytes = 0;  // Since then, of a part of it that is too small to be progress.
    absl::Time progress;
  };
  std::vector<Holding> holdings_;  // By link number.
};

}  // namespace verbena::transport

#endif  // VERBENA_TRANSPORT_MEMORY_HOLDERS_H_
