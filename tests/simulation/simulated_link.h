// A reliable connection between two ends: SENDs arrive in order, once, or not at all once it is broken. Their
// completions and those of READs come in their own time, in order each, in no order relative to what arrives.

#ifndef VERBENA_TESTS_SIMULATION_SIMULATED_LINK_H_
#define VERBENA_TESTS_SIMULATION_SIMULATED_LINK_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "tests/simulation/simulated_loop.h"
#include "tests/simulation/world.h"
#include "transport/protocol/actions.h"
#include "transport/wire/frame.h"

namespace verbena::simulation {

// What the link needs of an end.
class LinkEnd {
 public:
  virtual ~LinkEnd() = default;
  virtual SimulatedLoop& loop() = 0;
  virtual void OnFrameBytes(const std::vector<std::byte>& bytes) = 0;
  virtual void OnSendCompletion(uint32_t count) = 0;  // Of the oldest `count` SENDs.
  virtual void OnReadCompletion(uint64_t fetch_id, bool ok) = 0;
  enum class Access {
    kOpen,     // Exported.
    kRevoked,  // It was, and was taken away from a peer that had not finished.
    kNone,
  };
  virtual Access AccessTo(uint64_t address, uint32_t key, uint64_t length) const = 0;
  virtual void OnBroken() = 0;  // After the last arrived frame. Once.
};

class SimulatedLink {
 public:
  explicit SimulatedLink(World* world) : world_(*world) {}
  void Attach(LinkEnd* first, LinkEnd* second) { ends_ = {first, second}; }

  // The end `from` (0 or 1) queues a SEND, of which `header` is the first frame's, and posts it, when all its frames
  // are there. A SEND that is not signaled completes with the next that is.
  void Queue(int from, const wire::FrameHeader& header);
  void Post(int from, const wire::FrameHeader& header, std::vector<std::byte> bytes, bool signaled);
  // It posts a READ of the other's memory.
  void Read(int from, const protocol::PostRead& read);
  // Nothing moves any more; both ends learn it.
  void Break();

  bool broken() const { return broken_; }
  // Something happened after which this connection may end badly.
  void Disturb() { disturbed_ = true; }
  bool disturbed() const { return disturbed_; }

  // Credits that are under way from this end to the other: in SENDs, granted by them, and given back by them.
  struct UnderWay {
    uint64_t sends = 0, grants = 0, returns = 0;
  };
  const UnderWay& under_way(int from) const { return directions_[from].under_way; }

 private:
  struct Direction {
    UnderWay under_way;
    absl::Time last_arrival, last_poll, last_completion, last_read;  // Keep the order.
    uint32_t arrived = 0;                                            // SENDs that have not completed.
  };

  absl::Time InOrder(absl::Time& last);
  void Arrive(int from, const wire::FrameHeader& header, const std::shared_ptr<std::vector<std::byte>>& bytes,
              bool signaled);
  void Deliver(int from, const wire::FrameHeader& header, const std::shared_ptr<std::vector<std::byte>>& bytes);

  World& world_;
  std::array<LinkEnd*, 2> ends_{};
  std::array<Direction, 2> directions_;
  bool broken_ = false;
  bool disturbed_ = false;
};

}  // namespace verbena::simulation

#endif  // VERBENA_TESTS_SIMULATION_SIMULATED_LINK_H_
