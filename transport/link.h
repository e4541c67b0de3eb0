// One queue pair with its connection-manager id, from its making to its orderly end. What goes over it is its owner's
// business.
//
// The end is a protocol (End): disconnect, move to ERR, wait until every work request in flight has completed or been
// flushed and the device has said that it took its last receive (LAST_WQE_REACHED; some devices never say it, so that
// wait is limited), destroy the queue pair, then the id. Only then is memory that the peer could READ free again. None
// of it begins while rdma_connect is under way (blocking_call.h).
//
// Owner: an RdmaConnection, or its maker. Thread: its loop's.

#ifndef VERBENA_TRANSPORT_LINK_H_
#define VERBENA_TRANSPORT_LINK_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "transport/blocking_call.h"
#include "transport/cm_channel.h"
#include "transport/flight_queue.h"
#include "transport/lending_pool.h"
#include "transport/poll_group.h"
#include "transport/registered_pool.h"
#include "transport/send_list.h"
#include "transport/verbs/connection_id.h"
#include "transport/verbs/memory_window.h"
#include "transport/verbs/queue_pair.h"
#include "transport/window_pool.h"
#include "transport/wire/frame.h"

namespace verbena::transport {

// What a link tells its owner. None of these is called from within a call to the link.
class LinkOwner {
 public:
  virtual ~LinkOwner() = default;
  virtual void OnCmEvent(verbs::CmEvent& event) = 0;
  // A SEND arrived, of one frame or several. The bytes are valid during the call, unless it returns false: then the
  // owner keeps the buffer and gives it back by ReceiveSupply::Repost.
  virtual bool OnSendArrived(uint32_t receive, absl::Span<const std::byte> bytes) = 0;
  virtual void OnSendsDone(uint32_t count) = 0;  // The oldest `count` SENDs in flight completed.
  virtual void OnReadDone(uint64_t fetch_id) = 0;
  virtual void OnInvalidated() = 0;                        // The oldest window that was being invalidated is closed.
  virtual void OnFailure(const absl::Status& status) = 0;  // A work request failed; once. The owner answers with End.
  virtual void OnTurnEnd() = 0;                            // The owner asked for it by PollGroup::MarkDirty.
  virtual void OnGrantsWakeup() = 0;                       // See protocol::GrantBudget::NextWakeup.
  virtual void OnMemoryStalled(const absl::Status& why) = 0;  // What it holds keeps others waiting: it is to end.
  virtual void OnEnded() = 0;                                 // The queue pair is destroyed. The link may be destroyed.
};

// One chunk of a fetch.
struct ReadRequest {
  uint64_t fetch_id;
  std::byte* to;
  uint32_t length;
  uint32_t lkey;
  uint64_t remote_address;
  uint32_t rkey;
};

class Link : private CmHandler {
 public:
  // Makes the queue pair on an id whose device is known, and takes the id if it succeeds. `frames_max` and `reads_max`:
  // how many of each may be in flight.
  static absl::StatusOr<std::unique_ptr<Link>> Create(PollGroup* group, CmChannel* channel, verbs::ConnectionId&& id,
                                                      LinkOwner* owner, uint32_t frames_max, uint32_t reads_max);
  ~Link() override;  // After OnEnded, or before anything was connected.

  verbs::ConnectionId& id() { return id_; }  // Before OnEnded.
  void set_owner(LinkOwner* owner) { owner_ = owner; }
  uint32_t number() const { return number_; }  // Of the link, in its poll group.
  // Where its frames arrive: the group's receives, or its own on a device without shared receive queues.
  ReceiveSupply& receives() { return own_receives_ != nullptr ? *own_receives_ : group_->shared_supply(); }

  // --- Send buffers. No link may hold more of them than it leaves free, so that peers that take nothing in never hold
  // all: with n of those, the pool falls into n + 1 equal parts. The last free one goes to a link that holds none.
  // Those of unsignaled SENDs do not count: nothing frees them but a SEND more.
  bool MayTakeSendBuffer() const {
    const uint32_t held = send_buffers_held_ - std::min(send_buffers_held_, unsignaled_);
    return held == 0 ? group_->sends_free() > 0 : held < group_->sends_free();
  }
  // Marked dirty when work requests have completed: there may be room for what had to wait.
  void WaitForRoom();
  // The same for a send buffer: in turn with the other links that wait for one.
  void WaitForSendBuffer() {
    if (!std::exchange(waiting_for_buffer_, true)) group_->AwaitSendBuffer(number_);
  }

  // --- Queued until Flush. `buffer` holds the frame's bytes. Of its rest, `room` bytes may be used by frames that join
  // it. OnSendsDone counts a frame that is `reported` when its SEND has completed; another perhaps not before a later
  // one's: neither it nor its buffer may be waited for.
  void QueueFrame(RegisteredPool::Buffer&& buffer, uint32_t length, uint32_t room = 0, bool reported = true);
  // What is left of that: 0 if something else was queued since, or the frame has left.
  uint32_t room() const { return sends_ == nullptr ? 0 : sends_->room(); }
  // Where a frame that joins is to be written; `JoinFrame` appends it to the SEND.
  std::byte* room_begin() const { return sends_->end(); }
  void JoinFrame(uint32_t length, bool reported) {
    sends_->Join(length);
    if (reported) sends_->Await();
    group_->counters().frames_sent.Add(1);
    group_->counters().frames_packed.Add(1);
  }
  void QueueHeader(const wire::FrameHeader& header);
  void QueueRead(const ReadRequest& read);
  // --- Memory windows, on a device that has them. What is queued after a bind finds it done: its key may be announced.
  WindowPool& windows() { return windows_; }
  // No more than this in flight, of either kind.
  static constexpr uint32_t kWindowWorkMax = 64;
  bool MayBind(size_t windows) const;
  // Opens `bytes` to the peer for READs. Returns the key.
  uint32_t QueueBind(verbs::MemoryWindow& window, const verbs::MemoryRegion& region, absl::Span<const std::byte> bytes);
  // Closes it; OnInvalidated follows, in order of queueing. `window` must stay where it is until then or until the link
  // begins to end.
  void QueueInvalidate(const verbs::MemoryWindow& window);

  // Somebody waits for the SENDs that were queued last, and so for those before: a loop that sleeps wakes when they
  // have completed. Else their completions may wait for as long as PollGroup::Arm says.
  void AwaitSends() {
    if (sends_ != nullptr) sends_->Await();
    if (sends_ != nullptr || unsignaled_ == 0) flights().AwaitNewest();  // Nobody waits for what asked for nothing.
  }
  // The peer has chosen wire::kFeatureSolicited.
  void OnPeerSolicits() { group_->OnPeerSolicits(number_); }

  bool has_queued() const { return sends_ != nullptr || !parked_.empty(); }
  // Rings the doorbell if anything is queued.
  void Flush() {
    if (!parked_.empty()) QueueParked();
    if (sends_ != nullptr) Post();
  }

  // Starts to connect. What comes of it is an event of the id, or OnFailure.
  absl::Status Connect(const verbs::ConnectionParameters& parameters);
  // The connection is made: sets what the connection manager leaves at its default.
  void OnEstablished();
  // Begins the end; OnEnded follows, once, from a later turn of the loop.
  void End();
  bool ending() const { return phase_ != Phase::kOpen; }

  // --- From the poll group.
  void OnReceiveCompleted(uint32_t receive, const ibv_wc& completion);
  void OnCompletion(verbs::CompletionToken token, const ibv_wc& completion);
  void OnQueueFailed(const absl::Status& status);  // The completion queue: nothing completes any more.
  void OnTurnEnd() {
    waiting_ = false;
    owner_->OnTurnEnd();
    if (own_receives_ != nullptr) own_receives_->ReportGrants();
  }
  void OnSendBufferFree() {
    waiting_for_buffer_ = false;
    OnTurnEnd();
  }
  void OnGrantsWakeup() { owner_->OnGrantsWakeup(); }
  void OnMemoryStalled(const absl::Status& why) { owner_->OnMemoryStalled(why); }
  // Ends at once, without waiting any longer.
  void Finish();

 private:
  enum class Phase {
    kOpen,           // Work is posted and completes.
    kDisconnecting,  // It is to end. Woken by the return of rdma_connect, if that is awaited, then of rdma_disconnect.
    kFlushing,       // The queue pair is in ERR. Woken by completions, LAST_WQE_REACHED, and the timer.
    kEnded,          // The queue pair is destroyed.
  };

  Link(PollGroup* group, CmChannel* channel, verbs::ConnectionId id, LinkOwner* owner)
      : group_(group), channel_(channel), id_(std::move(id)), windows_(group->device().domain()), owner_(owner) {}
  void OnCmEvent(verbs::CmEvent& event) override { owner_->OnCmEvent(event); }
  // Where the next work request is queued: it has room.
  SendList& Queue();
  void QueueParked();
  void Post();  // sends_ is not null.
  // Work requests that were never posted are not in flight: nothing waits for them.
  void Forget(const ibv_send_wr* unposted);
  bool MustPark();
  // A completion failed, and with it the queue pair.
  void Fail(const ibv_wc& completion, const char* operation);
  LinkFlights& flights() const { return *flights_; }
  // True: the list, which is about to be posted, asks for no completion.
  bool LeaveUnsignaled(SendList& list);
  // One that is asked for now says of the unsignaled SENDs, too, that they are done.
  void EndUnsignaled() { group_->CountUnsignaled(-static_cast<int64_t>(std::exchange(unsignaled_, 0))); }
  // No completion is to come any more, unless of a failure.
  bool AllCompleted() const { return flights().size() <= unsignaled_; }
  // The work request is not in flight any more.
  void Landed(const Flight& flight);
  void FailLater(absl::Status status);
  void FailOrAwaitCause(const ibv_wc& completion, const char* operation);
  void OnConnectReturned(const absl::Status& status);
  void Disconnect();
  void BeginFlushing();
  void SetEndTimer(absl::Duration wait, absl::AnyInvocable<void()> callback);
  void OnLastReceiveTaken();
  void EndSoon();
  void FinishWhenDrained();
  void Destroy();

  // Constant after construction.
  PollGroup* const group_;
  CmChannel* const channel_;
  verbs::ConnectionId id_;
  uint32_t number_ = 0;
  LinkFlights* flights_ = nullptr;  // The group's for `number_`.
  bool inline_headers_ = false;

  // Owned by the loop.
  WindowPool windows_;
  LinkOwner* owner_;
  std::optional<verbs::QueuePair> queue_pair_;
  std::unique_ptr<ReceiveSupply> own_receives_;  // Of the queue pair; null where the group's are shared.
  LendingPool<SendList>::Lent sends_;            // While something is queued.
  using Parked = std::variant<wire::FrameHeader, ReadRequest, const verbs::MemoryWindow*>;
  std::vector<Parked> parked_;       // Wait until fewer work requests are in flight in the poll group.
  uint32_t send_buffers_held_ = 0;   // In flight, of the group's.
  uint32_t unsignaled_ = 0;          // SENDs posted since the last that asked for a completion.
  uint32_t window_work_ = 0;         // In flight: binds and invalidations.
  bool waiting_ = false;             // In the group's list of those that wait for room.
  bool waiting_for_buffer_ = false;  // The same, for a send buffer.
  Phase phase_ = Phase::kOpen;
  bool failed_ = false;
  bool refused_ = false;  // A post failed: nothing is posted any more.
  bool last_receive_taken_ = false;
  bool finishing_ = false;  // Finish is deferred.
  TimerId end_timer_ = 0;
  bool calls_block_ = false;            // On the id: an iWARP device's, until the peer has answered.
  std::shared_ptr<BlockingCall> call_;  // While one is under way.
};

}  // namespace verbena::transport

#endif  // VERBENA_TRANSPORT_LINK_H_
