// The receives posted to one receive queue, and the budget of the credits granted on them.
//
// There are two kinds. With a shared receive queue a poll group has one supply for all its connections, and its budget
// moves credits between them. On a device that has none each link has a supply of its own, of a fixed size, and a
// budget with one member: more memory for a connection, and no credit ever moves, but the same rules above.
//
// Receives are added in slabs, and the last slabs may leave again. A posted receive cannot be taken back: one that
// leaves comes back when a frame has arrived in it, and is then not posted again. Until then it stands in for another
// that nobody was granted; when it is back, the budget has that one in its place. So credits are as they were at every
// moment, and a slab's buffers are free when all of it has come back.
//
// Owner: the poll group, or the link; it outlives the grant shares taken of its budget, and goes after its queue.
// Thread: the loop's. Receives are numbered within the supply; the number is the index of their completion token.

#ifndef VERBENA_TRANSPORT_RECEIVE_SUPPLY_H_
#define VERBENA_TRANSPORT_RECEIVE_SUPPLY_H_

#include <cstddef>
#include <cstdint>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "transport/counters.h"
#include "transport/protocol/grant_budget.h"
#include "transport/registered_pool.h"
#include "transport/verbs/queue_pair.h"
#include "transport/verbs/shared_receive_queue.h"

namespace verbena::transport {

class ReceiveSupply {
 public:
  using Queue = std::variant<verbs::SharedReceiveQueue*, verbs::QueuePair*>;

  // Supplies with receives to post stand in here, once each; see PostUsed.
  using UsedList = std::vector<ReceiveSupply*>;

  struct Surroundings {
    RegisteredPool* pool;
    CounterBlock* counters;
    UsedList* used;
  };

  // `receives_max`: what the queue has room for.
  ReceiveSupply(const Surroundings& surroundings, Queue queue, uint32_t receives_max);
  ReceiveSupply(const ReceiveSupply&) = delete;
  ReceiveSupply& operator=(const ReceiveSupply&) = delete;
  ~ReceiveSupply();

  // Posts `count` receives more. They are kept apart until PutInBudget. ResourceExhausted: no room in the queue, or no
  // memory. What the device refuses twice is tried again by PostUsed; until then it counts as consumed.
  absl::Status Add(uint32_t count);
  uint32_t kept() const { return kept_; }  // Added, and not in the budget yet.
  // Moves receives that are kept into the budget, posted ones first; there must be so many.
  void PutInBudget(uint32_t count);
  // The inverse: GrantBudget::ProvideForFewer, and the receives that leave the budget are kept.
  bool ProvideForFewer(uint32_t members);
  // The same: GrantBudget::TakeSpare.
  void TakeSpare(uint32_t most) { kept_ += grants_.TakeSpare(most); }

  // From here on the last slab that stays leaves, if it is not the first and so many posted receives are kept. False:
  // it stays.
  bool LetSlabLeave();
  // The first slab that leaves stays after all; it is kept until PutInBudget. False: none leaves.
  bool KeepLeavingSlab();
  // Gives back the buffers of slabs that have come back whole, the last first.
  void GiveBackLeft();
  // There are more slabs than the first, whether they leave or not.
  bool has_grown() const { return slabs_.size() > 1; }

  protocol::GrantBudget& grants() { return grants_; }
  const std::byte* data(uint32_t receive) const { return buffers_[receive].data(); }

  // A receive has completed.
  void OnCompleted() {
    --posted_;
    counters_->receives_posted.Subtract(1);
  }
  // Gives back a receive whose frame was handed to a connection's machine, which accounts for it.
  void Repost(uint32_t receive) {
    if (closed_) return;
    if (used_.empty()) used_list_->push_back(this);
    used_.push_back(receive);
  }
  // Gives back a receive that no machine has seen.
  void RepostUnseen(uint32_t receive) {
    grants_.OnReceivesTaken(1);
    Repost(receive);
  }

  // Whether so many are to be posted again that it is worth a doorbell.
  bool WorthPosting() const { return used_.size() >= batch_; }
  // Posts what was given back, but for what leaves. True if there was anything: those who wait for grants may have
  // them. The supply leaves the list of used ones when nothing is left over.
  bool PostUsed();
  // The queue is going: nothing is posted any more.
  void Close();
  // The queue is gone: gives the buffers back. Grants may still be returned to the budget.
  void Retire();

  uint32_t posted() const { return posted_; }
  // Brings the count of granted credits up to date.
  void ReportGrants();

 private:
  uint32_t SlabEnd(size_t slab) const;
  void PostAdded(uint32_t count);
  void SetAsideLeaving();
  uint32_t PostSome();
  void CountReposted(uint32_t count);

  // Constant after construction.
  RegisteredPool* const pool_;
  CounterBlock* const counters_;
  UsedList* const used_list_;
  const Queue queue_;
  const uint32_t receives_max_;
  const size_t batch_;

  // Owned by the loop.
  protocol::GrantBudget grants_;
  // Until Retire. Each is posted, in `used_`, with a connection, or in `left_`.
  std::vector<RegisteredPool::Buffer> buffers_;
  std::vector<uint32_t> used_;   // To post.
  bool refused_ = false;         // The device has refused some, and taken none since.
  std::vector<uint32_t> slabs_;  // The first receive of each.
  size_t slabs_staying_ = 0;     // Of slabs_, from the front.
  uint32_t staying_ = 0;         // Receives of those. The others leave.
  std::vector<uint32_t> left_;   // Of the others, those that have come back.
  uint32_t posted_ = 0;
  uint32_t kept_ = 0;
  uint32_t kept_unposted_ = 0;  // Of those; at most used_.size().
  uint64_t reported_grants_ = 0;
  bool closed_ = false;
};

}  // namespace verbena::transport

#endif  // VERBENA_TRANSPORT_RECEIVE_SUPPLY_H_
