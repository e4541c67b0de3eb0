// The receives that all links of a poll group share, on a device with shared receive queues: the queue, its supply, and
// no more of them than connections need.
//
// Half of those that there are at first serve whoever is active; the other half is the minimum of as many connections
// as it suffices for. Past these, more are added by slabs of kSlabBuffers: for the minimum of each connection that
// comes, and, where half of the first half does not suffice for one more for each that is or was active, for that one.
// They leave again when connections have gone: as frames arrive in them (receive_supply.h), or, when there is no
// connection at all, at once, with the queue.
//
// Owner: a poll group; outlives the links, and the grant shares taken of the budget. Thread: its loop's.

#ifndef VERBENA_TRANSPORT_SHARED_RECEIVES_H_
#define VERBENA_TRANSPORT_SHARED_RECEIVES_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "transport/receive_supply.h"
#include "transport/verbs/protection_domain.h"
#include "transport/verbs/shared_receive_queue.h"

namespace verbena::transport {

class SharedReceives {
 public:
  struct Sizes {
    uint32_t at_first;   // Receives, in a slab that stays.
    uint32_t max;        // What the queue is to have room for.
    uint32_t spare_max;  // Of that, for active connections, beside those at first. The others are for minimums.
  };

  // `domain` and `surroundings` must outlive it. ResourceExhausted: no room in the queue, or no memory.
  static absl::StatusOr<std::unique_ptr<SharedReceives>> Make(const verbs::ProtectionDomain& domain,
                                                              const ReceiveSupply::Surroundings& surroundings,
                                                              const Sizes& sizes);

  const verbs::SharedReceiveQueue& queue() const { return *queue_; }
  ReceiveSupply& supply() { return *supply_; }

  // Sees to it that so many connections have their minimum, at most one more than before. ResourceExhausted: no room
  // in the queue, or no memory.
  absl::Status ProvideFor(uint64_t connections);
  // Adds a slab for whoever is active, if that is of use and there is room and memory for it.
  void ProvideForActive() {
    if (supply_->grants().TakeSpareWanted() && !spare_refused_) AddSpare();
  }
  // So many will do from here on. Receives of slabs beyond those leave, and slabs that have come back whole go back to
  // the pool, to be called for again and again.
  void ProvideForFewer(uint64_t connections);
  // There are more slabs than at first, or have been and are not all back.
  bool has_grown() const { return supply_->has_grown(); }
  // Makes queue and supply anew, as at first; the other buffers go back to the pool. Nobody uses the queue or holds a
  // share of the budget, and every completion of its receives was handled. On an error all is as before.
  absl::Status MakeAnew();
  // Whether the device will say when few receives are left, a quarter of what there was at first: asks it to, unless it
  // was asked before and has not said so. False: it has refused to, or there are no more than that.
  bool WatchForLow();
  // It has said so, of the queue `low`: perhaps this.
  void OnLow(const ibv_srq* low);
  // Destroys the queue. The rest stays for grant shares that are left.
  void Close() { queue_.reset(); }

 private:
  SharedReceives(const verbs::ProtectionDomain& domain, const ReceiveSupply::Surroundings& surroundings,
                 const Sizes& sizes)
      : domain_(domain), surroundings_(surroundings), sizes_(sizes) {}
  absl::Status MakeQueue();
  absl::Status MakeSupply();
  absl::Status KeepSome(uint32_t count);  // Apart from the budget.
  void AddSpare();
  uint32_t SpareAtFirst() const { return sizes_.at_first / 2; }

  // Constant after construction.
  const verbs::ProtectionDomain& domain_;
  const ReceiveSupply::Surroundings surroundings_;
  const Sizes sizes_;

  // Owned by the loop.
  std::optional<ReceiveSupply> supply_;
  std::optional<verbs::SharedReceiveQueue> queue_;  // Behind the supply, whose buffers it names: it goes first.
  bool watched_ = false;                            // The device was asked to say when few are left.
  bool refused_ = false;                            // It does not.
  bool spare_refused_ = false;                      // There was no room, or no memory, for more, in this period.
  uint64_t provided_ = 0;  // Connections whose minimum is in the budget; it stays there for the next.
};

}  // namespace verbena::transport

#endif  // VERBENA_TRANSPORT_SHARED_RECEIVES_H_
