// One loop's share of one device: a completion queue, a shared receive queue where the device has one, frame buffers,
// budgets, and the links that use them. Nothing of it is shared with another loop.
//
// Its Poll is the hot path: reap completions, feed the links, let each link that has something to say say it with one
// doorbell, repost the receives that were used.
//
// Owner: the loop (EventLoop::Local), until its device is removed and the last link has ended, and whoever has used it
// for as long as he is there: connections, set-ups. Thread: its loop's.

#ifndef VERBENA_TRANSPORT_POLL_GROUP_H_
#define VERBENA_TRANSPORT_POLL_GROUP_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "transport/counters.h"
#include "transport/deferred_tasks.h"
#include "transport/device_context.h"
#include "transport/early_wakes.h"
#include "transport/endpoint.h"
#include "transport/exported_payload.h"
#include "transport/fetch_window.h"
#include "transport/flight_queue.h"
#include "transport/kept_memory_timer.h"
#include "transport/landing_loans.h"
#include "transport/lending_pool.h"
#include "transport/memory_budget.h"
#include "transport/memory_holders.h"
#include "transport/protocol/ring.h"
#include "transport/receive_supply.h"
#include "transport/registered_pool.h"
#include "transport/send_list.h"
#include "transport/shared_receives.h"
#include "transport/verbs/completion_channel.h"
#include "transport/verbs/completion_queue.h"

namespace verbena::transport {

class Link;

class PollGroup : public PollSource, public std::enable_shared_from_this<PollGroup> {
 public:
  // The loop's group for `device`, made on first use with the sizes that `options` asks for; later options have no say
  // in them. Unavailable on a device that was removed.
  static absl::StatusOr<std::shared_ptr<PollGroup>> For(EventLoop* loop, std::shared_ptr<DeviceContext> device,
                                                        const TransportOptions& options);
  ~PollGroup() override;

  EventLoop* loop() const { return loop_; }
  DeviceContext& device() const { return *device_; }
  CounterBlock& counters() { return counters_; }
  FetchWindow& fetch_window() { return fetch_window_; }
  // After each Enter that does not begin.
  void WatchFetchWindow();
  MemoryBudget& fetch_budget() { return fetch_budget_; }
  MemoryHolders& landing_holders() { return landing_holders_; }  // For fetches; what is lent is not theirs.
  LandingLoans& landing_loans() { return landing_loans_; }
  MemoryBudget& export_budget() { return export_budget_; }
  MemoryHolders& export_holders() { return export_holders_; }
  // After each request of a budget: whoever waits is helped when TransportOptions::memory_wait_timeout has passed.
  void WatchBudgets();
  size_t receive_buffer_bytes() const { return receives_.buffer_bytes(); }
  const verbs::CompletionQueue& completions() const { return *completions_; }

  // Null on a device without shared receive queues: then each link has a supply of its own, of
  // TransportOptions::receive_buffers_per_connection receives, made by MakeSupply.
  const verbs::SharedReceiveQueue* shared_queue() const { return shared_ != nullptr ? &shared_->queue() : nullptr; }
  ReceiveSupply& shared_supply() { return shared_->supply(); }
  uint32_t receives_per_connection() const { return options_.receive_buffers_per_connection; }
  absl::StatusOr<std::unique_ptr<ReceiveSupply>> MakeSupply(verbs::QueuePair* queue_pair);

  // --- Links.

  // Makes room for one more connection: receives for its minimum of credits. ResourceExhausted past connections_max or
  // without memory.
  absl::Status ReserveConnection();
  void ReleaseConnection() { counters_.connections.Subtract(1); }
  // The group's number for a link; its completions and turns reach it until RemoveLink.
  uint32_t AddLink(Link* link);
  void BindQueuePair(uint32_t queue_pair_number, uint32_t link);
  void RemoveLink(uint32_t number, uint32_t queue_pair_number);
  // The link's peer has chosen wire::kFeatureSolicited. Once.
  void OnPeerSolicits(uint32_t link);
  // The completion queue has failed, or the device was removed: what is in flight completes no more.
  bool failed() const { return failed_; }
  // Null when there is none (any more).
  Link* FindLink(uint32_t queue_pair_number) const;
  // The link's OnTurnEnd runs at the end of this turn, or of the next.
  void MarkDirty(uint32_t link);
  // The completion that is being handled is the turn's last: what answers it is probably the last that is sent in it.
  bool handling_last() const { return handling_last_; }
  // Asked while a turn's messages are delivered: none had come when the loop looked the last time before.
  bool waited() const { return waited_; }
  // Runs at the end of a turn, when every completion that stands in the queue now has been handled and no link is on
  // the stack.
  void Defer(absl::AnyInvocable<void()> task) { deferred_.Add(std::move(task)); }

  // --- Buffers.

  uint32_t sends_free() const { return sends_.free(); }
  RegisteredPool::Buffer TakeSendBuffer() { return sends_.Take(); }  // sends_free() is not 0.
  size_t send_buffer_bytes() const { return sends_.buffer_bytes(); }
  // For frame headers on devices without inline. The pool grows as needed: what is in flight is bounded by
  // TooManyInFlight.
  absl::StatusOr<RegisteredPool::Buffer> TakeHeaderBuffer();
  LendingPool<SendList>& send_lists() { return send_lists_; }
  LendingPool<ExportedPayload>& exports() { return exports_; }
  LinkFlights& flights(uint32_t link) { return flights_[link]; }  // There as long as this.
  // True when so many work requests without a send buffer might overrun the completion queue.
  bool TooManyInFlight(uint32_t more = 1) const { return in_flight_.all + sends_.free() + more > flights_max_; }
  // Whether so many SENDs more may ask for no completion: what those hold is no more than a quarter of the send buffers
  // that are free, and the loop does not sleep, which is woken by such a completion (early_wakes.h).
  bool MayLeaveUnsignaled(uint32_t sends) const {
    return polls_awake_ >= kPollsAwake && 4 * (unsignaled_ + sends) <= sends_.free();
  }
  void CountUnsignaled(int64_t more) { unsignaled_ += static_cast<uint64_t>(more); }
  // Once for each link until its OnTurnEnd: it is marked dirty when work requests have completed or were dropped.
  void MarkDirtyWhenFreed(uint32_t link) { waiting_.push_back(link); }
  // Once for each link until its OnSendBufferFree, which comes in the order of asking.
  void AwaitSendBuffer(uint32_t link) { waiting_for_buffer_.Push(link); }
  // Send buffers, or room, came back: by completions, or another way.
  void WakeWaiting() {
    buffers_came_back_ = true;
    if (!waiting_.empty()) MarkWaiting();
  }
  // Drops what the link has in flight: its queue pair is destroyed and can complete no more.
  void DropFlights(uint32_t link);

  // --- PollSource.
  int Poll() override;
  // For what matters only, where that can be said: what peers send, and work requests that somebody awaits. For SENDs
  // of our own that nobody awaits only while that pays (early_wakes.h): else they are looked at when the loop wakes,
  // after kSweepInterval at the latest. So is one that has failed, on a device that raises no event for it (rxe).
  // SENDs that ask for no completion are waited for: they complete only if they fail.
  void Arm() override;
  static constexpr absl::Duration kSweepInterval = absl::Milliseconds(50);
  void OnReadable(int fd) override;

 private:
  enum class Armed : uint8_t { kNot, kForSolicited, kForAnything };

  PollGroup(EventLoop* loop, std::shared_ptr<DeviceContext> device, const TransportOptions& options);
  absl::Status Initialize();
  absl::Status ListenToEvents();
  // Ends the links at once and lets go of the loop, which does not call again. Once, before the loop is gone.
  void Close();
  absl::Status ProvideForConnection(uint64_t connections);
  // Once in a period: frame buffers that no connection of the last one needed go. True if there may be more.
  bool GiveBackUnused();
  void MakeReceivesAnew();
  int Reap();
  void Fail(const absl::Status& status);
  void OnDeviceRemoved();
  void DropIfUnused();
  void HandleCompletion(const ibv_wc& completion);
  Link* FindRecent(uint32_t queue_pair_number);  // As FindLink.
  int RunDirty();
  void MarkWaiting();
  int ServeWaitingForBuffer() {
    return std::exchange(buffers_came_back_, false) && !waiting_for_buffer_.empty() ? ServeBuffers() : 0;
  }
  int ServeBuffers();
  void WakeForGrants(ReceiveSupply& supply) {
    while (const std::optional<uint32_t> number = supply.grants().NextWakeup(loop_->Now())) WakeForGrants(*number);
  }
  void WakeForGrants(uint32_t link);
  void RelieveBudgets();
  void EndStalled(const MemoryBudget& budget, const MemoryHolders& holders, absl::string_view what);
  int PostReceives(bool idle);
  // Before the loop sleeps: what the device has refused is tried again soon, whatever else happens.
  void WatchRefusedReceives();
  bool OnlySolicitedMatter();
  ReceiveSupply::Surroundings SupplySurroundings() {
    return {.pool = &receives_, .counters = &counters_, .used = &used_supplies_};
  }

  // Constant after construction.
  EventLoop* const loop_;
  const std::shared_ptr<DeviceContext> device_;
  const TransportOptions options_;

  // Owned by the loop. The order is the order of making: the queues go after the pools, whose buffers the queues name.
  CounterBlock counters_;
  RegisteredPool receives_;
  RegisteredPool sends_;
  RegisteredPool headers_;
  LendingPool<SendList> send_lists_;
  LendingPool<ExportedPayload> exports_;
  FlightCounts in_flight_;   // Of all links together.
  uint64_t unsignaled_ = 0;  // Of those, SENDs that complete only if they fail, or with one that is to come.
  // A loop that has polled so often without sleeping is taken not to sleep before the next message.
  static constexpr uint64_t kPollsAwake = 16;
  uint64_t polls_awake_ = 0;         // Since the loop slept, or was about to.
  std::deque<LinkFlights> flights_;  // By link number.
  std::optional<verbs::CompletionChannel> channel_;
  std::optional<verbs::CompletionQueue> completions_;
  ReceiveSupply::UsedList used_supplies_;
  std::unique_ptr<SharedReceives> shared_;  // Null on a device without shared receive queues.
  FetchWindow fetch_window_;
  MemoryBudget fetch_budget_;
  MemoryHolders landing_holders_;
  LandingLoans landing_loans_;
  MemoryBudget export_budget_;
  MemoryHolders export_holders_;
  TimerId window_timer_ = 0;                             // While somebody waits for the fetch window.
  TimerId watch_timer_ = 0;                              // While somebody waits for memory.
  TimerId sweep_timer_ = 0;                              // While a SEND that nobody awaits may have completed unseen.
  TimerId refused_timer_ = 0;                            // While the loop sleeps and the device has refused receives.
  absl::Duration refused_delay_ = absl::ZeroDuration();  // Of that timer, last; zero: nothing is refused.
  KeptMemoryTimer kept_memory_;

  uint64_t connections_most_ = 0;  // At the same time, since GiveBackUnused was called.
  uint64_t links_made_ = 0;        // Ever.
  std::vector<Link*> links_;
  std::vector<bool> peer_solicits_;  // By link number.
  size_t soliciting_peers_ = 0;      // How many.
  std::vector<uint32_t> free_links_;
  absl::flat_hash_map<uint32_t, uint32_t> link_of_queue_pair_;
  // Those whose receives have completed lately, by the low bits of the queue pair's number.
  struct Recent {
    uint32_t queue_pair = 0;
    Link* link = nullptr;
  };
  std::array<Recent, 64> recent_;
  std::vector<uint32_t> dirty_;
  std::vector<uint32_t> running_dirty_;
  std::vector<uint32_t> waiting_;                // Links that wait for room in the completion queue; once each.
  protocol::Ring<uint32_t> waiting_for_buffer_;  // Links; also some that have ended.
  bool buffers_came_back_ = false;               // Since those were last served.
  DeferredTasks deferred_;
  uint32_t flights_max_ = 0;   // Set once, by Initialize.
  uint32_t receives_max_ = 0;  // The same: what the completion queue has room for.
  uint32_t idle_polls_ = 0;
  bool handling_last_ = false;
  bool waited_ = false;
  Armed armed_ = Armed::kNot;
  EarlyWakes early_wakes_;
  bool failed_ = false;   // Every link was told why, and no connection is made any more.
  absl::Status failure_;  // The reason.
  bool removed_ = false;  // The device: the loop drops this when there is no link.
};

}  // namespace verbena::transport

#endif  // VERBENA_TRANSPORT_POLL_GROUP_H_
