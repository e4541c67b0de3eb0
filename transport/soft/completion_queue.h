// A completion queue: finished work of many queue pairs, and the place from which those queue pairs make progress.
//
// Messages are taken from the rings, acknowledged and completed by whoever polls the queue, or reads its channel. Where
// nobody does, the queue is "unattended", and the device's progress thread does it. The ready map says which queue
// pairs have news.
//
// One queue pair, the one that has the most news of late, may be "watched": polls look at it without being told, and
// its peer need not mark it in the map, whose lines would travel to and fro between two processors with every message.
// As with arming, no news is lost: a peer publishes, then reads who is watched; the owner says who is watched, then
// looks at the one that was.
//
// Owner: the application, as an ibv_cq. Outlives its queue pairs. Thread: any; the locking order is in
// completion_channel.h.

#ifndef VERBENA_TRANSPORT_SOFT_COMPLETION_QUEUE_H_
#define VERBENA_TRANSPORT_SOFT_COMPLETION_QUEUE_H_

#include <infiniband/verbs.h>

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "transport/soft/armed_word.h"
#include "transport/soft/async_events.h"
#include "transport/soft/completion_channel.h"
#include "transport/soft/extended_poll.h"
#include "transport/soft/extensible.h"
#include "transport/soft/fault_injector.h"
#include "transport/soft/progress_thread.h"
#include "transport/soft/ready_map.h"
#include "transport/soft/ring_index.h"
#include "transport/soft/spin_lock.h"
#include "transport/soft/wire_set.h"

namespace verbena::soft {

// A queue pair, as its completion queues see it.
class ProgressTarget {
 public:
  // Takes in what the peer sent and accepted; completions go to the completion queues.
  virtual void Progress() = 0;
  // A cheap guess without locks whether Progress would find anything.
  virtual bool MayHaveNews() const = 0;

 protected:
  ~ProgressTarget() = default;
};

class CompletionQueue final : public ExtensibleCompletionQueue {
 public:
  // An owner who has polled so often without arming polls on.
  static constexpr uint32_t kPollsSteady = 16;

  // `index` is this queue's place in the published memory, `published` that place. `ready` is fresh.
  CompletionQueue(ibv_context* device_context, uint32_t index, uint32_t capacity, void* user_context,
                  CompletionChannel* event_channel, ReadyMap ready, PublishedQueue* published, AsyncEvents* events,
                  ProgressThread* progress_thread);
  // Waits until every event that was read for it is acknowledged, as ibv_destroy_cq must.
  ~CompletionQueue();
  CompletionQueue(const CompletionQueue&) = delete;
  CompletionQueue& operator=(const CompletionQueue&) = delete;

  // ibv_poll_cq: how many completions were taken, or -EIO once the queue has overrun and is empty. After arming, the
  // first call looks at some queue pairs, in turn, whatever the ready map says; at all without a device thread.
  int Poll(int count, ibv_wc* completions);
  // One completion and the device's time when it was added; the time is 0 unless EnableExtendedPoll asked for times.
  int PollTimed(ibv_wc* completion, uint64_t* time_ns);
  // ibv_resize_cq: EINVAL if what waits to be polled would not fit.
  int Resize(uint32_t capacity);

  // ibv_create_cq_ex: lets the queue be used as an ibv_cq_ex. Before anybody else knows the queue.
  void EnableExtendedPoll(bool with_times, bool single_threaded);
  // Null unless enabled.
  ExtendedPoll* extended_poll() const { return extended_poll_.get(); }

  // ibv_req_notify_cq.
  void Arm(bool solicited_only);

  // Adds a completion. `solicited` raises the event of a queue armed for solicited ones; a failed completion always
  // does. False if the queue is full: the completion is lost, an asynchronous event tells, nothing can be added again.
  bool Push(const ibv_wc& completion, bool solicited);

  // The queue pair with this index now reports here. While attached it is called under the progress lock; Detach
  // returns when no call is running or will come.
  void Attach(uint32_t queue_pair_index, ProgressTarget* target);
  void Detach(uint32_t queue_pair_index);
  bool HasTargets();

  // The attached queue pair has a wire: every poll that finds nothing looks at it, and a channel that waits for wires
  // waits for this one too. Before the queue pair uses it. 0 or an errno value.
  int AddWire(uint32_t queue_pair_index, int descriptor);
  // Nothing will come of the wire any more. With any lock held.
  void MuteWire(int descriptor);
  // The queue pair has something to say to its wire that could wait.
  void LookAgainAtWire(uint32_t queue_pair_index) {
    if (!wires_.looks_at_all()) LookAgain(queue_pair_index);
  }

  // Something of ours wants this queue pair to progress soon: the next poll does it; if there may be none, the progress
  // thread.
  void MarkReady(uint32_t queue_pair_index);
  // For a queue pair that waits for time to pass: polls look at it each time. The progress thread knows when by itself.
  void LookAgain(uint32_t queue_pair_index) {
    if (attended()) ready_.Set(queue_pair_index);
  }

  // For the progress thread. Whether the queue was polled lately; without such a thread, always.
  bool attended() const { return !unattended_.load(); }
  // How often the queue was polled.
  uint32_t polls() const { return polls_.load(std::memory_order_relaxed); }
  // Its owner polls, and is not about to sleep.
  bool IsPolledSteadily() const {
    return polls() - polls_at_arming_.load(std::memory_order_relaxed) >= kPollsSteady && attended();
  }
  // Of an attended queue: how often it was polled since the last call. 0: it is not attended any more, and has had its
  // turn.
  uint32_t TakePolls();
  // Lets the queue make progress for those who do not look: with `everybody`, whatever the ready map says. True if the
  // map said something.
  bool Help(bool everybody);

  // For the channel: its descriptor was drained, perhaps of a peer's wake-up meant for this queue.
  void ProgressAfterWake();
  void CountEventRead();
  // ibv_ack_cq_events.
  void AcknowledgeEvents(uint32_t count);

  uint32_t index() const { return index_; }
  CompletionChannel* event_channel() const { return channel_; }
  const ReadyMap& ready() const { return ready_; }

 private:
  // Polls between two looks at some of the queue pairs, in turn, and at how many: a look at all of a thousand takes as
  // long as a hundred messages.
  static constexpr uint32_t kPollsBetweenLooks = 1024;
  // Polls that may find completions before the queue pairs have a turn all the same.
  static constexpr uint32_t kPollsBetweenTurns = 4;
  static constexpr size_t kQueuePairsPerLook = 8;
  // At so many after each arming: an owner that sleeps between messages arms as often as it is woken.
  static constexpr size_t kQueuePairsPerArming = 16;
  // So often a queue pair is found in the map, and no other between, before it is watched: a change costs about as much
  // as the map does for one message. One that cannot be watched just then is tried again.
  static constexpr uint32_t kReadyBeforeWatched = 8;
  // Value of size_ that keeps an overrun queue from looking merely empty.
  static constexpr uint32_t kOverrunAndEmpty = 0xffffffff;

  // At whom the next turn looks, whatever the ready map says.
  enum class Look : uint8_t { kNobody, kSome, kEverybody };

  int Pop(int count, ibv_wc* completions, uint64_t* times_ns);
  bool FaultOverruns() ABSL_EXCLUSIVE_LOCKS_REQUIRED(entries_mu_);
  // Lets every queue pair that has news progress. A poll spares itself the lock if nothing says that there are any.
  void Progress();
  void ProgressOnPoll();
  bool TurnIsDue() const;
  bool LookIsDue();
  void LookAtSome(size_t count) ABSL_EXCLUSIVE_LOCKS_REQUIRED(progress_mu_);
  void LookAt(uint32_t queue_pair_index) ABSL_EXCLUSIVE_LOCKS_REQUIRED(progress_mu_);
  void ProgressOne(uint32_t index) ABSL_EXCLUSIVE_LOCKS_REQUIRED(progress_mu_);
  void ProgressWatched() ABSL_EXCLUSIVE_LOCKS_REQUIRED(progress_mu_);
  void Watch(uint32_t index) ABSL_EXCLUSIVE_LOCKS_REQUIRED(progress_mu_);
  void Unwatch() ABSL_EXCLUSIVE_LOCKS_REQUIRED(progress_mu_);
  void CountPoll() {
    polls_.store(polls_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    if (unattended_.load(std::memory_order_relaxed)) Attend();
  }
  void Attend();
  void SetUnattended(bool unattended);

  const uint32_t index_;
  CompletionChannel* const channel_;  // May be null.
  AsyncEvents* const async_events_;
  ProgressThread* const progress_thread_;
  ReadyMap ready_;
  std::atomic<Look> look_due_{Look::kNobody};
  std::atomic<bool> unattended_;
  std::atomic<uint32_t> polls_{0};  // A count that may miss some: threads that poll together do not lock it.
  std::atomic<uint32_t> polls_at_look_{0};
  std::atomic<uint32_t> polls_at_tick_{0};
  std::atomic<uint32_t> polls_at_arming_{0};

  SpinLock progress_mu_;
  std::vector<ProgressTarget*> targets_ ABSL_GUARDED_BY(progress_mu_);  // By queue pair index; grows on demand.
  std::vector<uint32_t> attached_indices_ ABSL_GUARDED_BY(progress_mu_);
  size_t next_look_ ABSL_GUARDED_BY(progress_mu_) = 0;     // Among those.
  WireSet wires_;                                          // See there for its locking.
  std::atomic<uint32_t>& watched_;                         // Published. Written under progress_mu_.
  uint32_t last_ready_ ABSL_GUARDED_BY(progress_mu_) = 0;  // In the map.
  uint32_t ready_in_a_row_ ABSL_GUARDED_BY(progress_mu_) = 0;

  std::atomic<uint32_t> size_{0};  // Written under entries_mu_; read without it as a hint.
  SpinLock entries_mu_;
  uint32_t capacity_ ABSL_GUARDED_BY(entries_mu_);
  RingIndex place_ ABSL_GUARDED_BY(entries_mu_);                 // In entries_, and in times_ns_.
  std::vector<ibv_wc> entries_ ABSL_GUARDED_BY(entries_mu_);     // A ring of that capacity.
  std::vector<uint64_t> times_ns_ ABSL_GUARDED_BY(entries_mu_);  // Of the entries; empty: nobody wants them.
  uint64_t head_ ABSL_GUARDED_BY(entries_mu_) = 0;
  bool overrun_ ABSL_GUARDED_BY(entries_mu_) = false;
  std::unique_ptr<FaultInjector> faults_ ABSL_GUARDED_BY(entries_mu_);  // Null: none.
  ArmedWord armed_ ABSL_GUARDED_BY(entries_mu_);

  std::unique_ptr<ExtendedPoll> extended_poll_;  // Constant once the queue is known.

  std::mutex events_mu_;
  std::condition_variable events_acknowledged_;
  uint64_t unacknowledged_events_ ABSL_GUARDED_BY(events_mu_) = 0;
};

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_COMPLETION_QUEUE_H_
