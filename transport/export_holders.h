// Who holds the exported memory of a poll group, and which connection is to go when others have waited too long for
// some.
//
// A connection makes progress when its peer finishes one of its exports (nothing else of a fetch is seen on this side).
//
// Owner: a poll group. Thread: its loop's.

#ifndef VERBENA_TRANSPORT_EXPORT_HOLDERS_H_
#define VERBENA_TRANSPORT_EXPORT_HOLDERS_H_

#include <cstdint>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"

namespace verbena::transport {

class ExportHolders {
 public:
  struct Holder {
    uint32_t link = 0;   // The poll group's number of the connection's link.
    uint64_t bytes = 0;  // Exported and not released, quarantine included.
  };

  void OnExported(uint32_t link, uint64_t bytes, absl::Time now) {
    Holding& holding = holdings_[link];
    if (holding.bytes == 0) holding.progress = now;
    holding.bytes += bytes;
  }
  // Finished by the peer, or the connection is at its end.
  void OnReleased(uint32_t link, uint64_t bytes, absl::Time now) {
    const auto found = holdings_.find(link);
    found->second.bytes -= bytes;
    found->second.progress = now;
    if (found->second.bytes == 0) holdings_.erase(found);
  }

  // Of those without progress since `since`, the one that holds most.
  std::optional<Holder> MostStalled(absl::Time since) const {
    std::optional<Holder> most;
    for (const auto& [link, holding] : holdings_) {
      if (holding.progress > since || (most.has_value() && most->bytes >= holding.bytes)) continue;
      most = Holder{link, holding.bytes};
    }
    return most;
  }

 private:
  struct Holding {
    uint64_t bytes = 0;
    absl::Time progress;
  };
  absl::flat_hash_map<uint32_t, Holding> holdings_;
};

}  // namespace verbena::transport

#endif  // VERBENA_TRANSPORT_EXPORT_HOLDERS_H_
