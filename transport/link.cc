#include "transport/link.h"

#include <memory>
#include <utility>

#include "transport/protocol/send_slots.h"
#include "transport/verbs/verbs_error.h"

namespace verbena::transport {
namespace {

// How long a link without any other news waits for the reason why its work requests were flushed.
constexpr absl::Duration kCauseWait = absl::Milliseconds(100);

const char* OperationOf(WorkKind kind) {
  switch (kind) {
    case WorkKind::kReceive:
      return "RECEIVE";
    case WorkKind::kFrame:
    case WorkKind::kHeader:
      return "SEND";
    case WorkKind::kRead:
      return "RDMA READ";
    case WorkKind::kBind:
      return "BIND";
    case WorkKind::kInvalidate:
      return "INVALIDATE";
  }
  return "work request";
}

}  // namespace

absl::StatusOr<std::unique_ptr<Link>> Link::Create(PollGroup* group, CmChannel* channel, verbs::ConnectionId&& id,
                                                   LinkOwner* owner, uint32_t frames_max, uint32_t reads_max) {
  verbs::QueuePairOptions options;
  options.send_completions = &group->completions();
  options.receive_completions = &group->completions();
  options.shared_receives = group->shared_queue();
  options.receives_max = group->receives_per_connection();
  options.sends_max = frames_max + reads_max + (group->device().has_windows() ? kWindowWorkMax : 0);
  options.inline_bytes_max = wire::kFrameHeaderBytes;
  absl::StatusOr<verbs::QueuePair> queue_pair = verbs::QueuePair::Create(id, group->device().domain(), options);
  if (!queue_pair.ok()) return queue_pair.status();

  std::unique_ptr<Link> link(new Link(group, channel, std::move(id), owner));
  link->queue_pair_ = *std::move(queue_pair);
  link->inline_headers_ = link->queue_pair_->inline_bytes_max() >= wire::kFrameHeaderBytes;
  link->number_ = group->AddLink(link.get());
  link->flights_ = &group->flights(link->number_);
  const uint32_t queue_pair_number = link->queue_pair_->number();
  group->BindQueuePair(queue_pair_number, link->number_);
  channel->SetHandler(link->id_, link.get());
  // The event may be read by another loop: it finds the link by number, on this loop, if it still exists.
  group->device().AddQueuePair(queue_pair_number, [loop = group->loop(), weak = group->weak_from_this(),
                                                   queue_pair_number](const verbs::AsyncEvent& event) {
    if (event.type != IBV_EVENT_QP_LAST_WQE_REACHED && event.type != IBV_EVENT_QP_FATAL) return;
    loop->Post([weak, queue_pair_number] {
      const std::shared_ptr<PollGroup> group = weak.lock();
      Link* const link = group == nullptr ? nullptr : group->FindLink(queue_pair_number);
      if (link != nullptr) link->OnLastReceiveTaken();
    });
  });
  if (group->shared_queue() == nullptr) {
    absl::StatusOr<std::unique_ptr<ReceiveSupply>> receives = group->MakeSupply(&*link->queue_pair_);
    if (!receives.ok()) {
      link->Destroy();
      id = std::move(link->id_);
      return receives.status();
    }
    link->own_receives_ = *std::move(receives);
  }
  return link;
}

Link::~Link() {
  if (phase_ != Phase::kEnded) Destroy();
}

void Link::WaitForRoom() {
  if (!std::exchange(waiting_, true)) group_->MarkDirtyWhenFreed(number_);
}

// Before the flight is added: when what is full is refused, the newest flights are what it had.
SendList& Link::Queue() {
  if (sends_ != nullptr && sends_->full()) Post();
  if (sends_ == nullptr) sends_ = group_->send_lists().Take();
  return *sends_;
}

void Link::QueueFrame(RegisteredPool::Buffer&& buffer, uint32_t length, uint32_t room, bool reported) {
  SendList& list = Queue();
  const std::byte* const bytes = buffer.data();
  const uint32_t lkey = buffer.lkey();
  const verbs::CompletionToken token = flights().Add({.kind = WorkKind::kFrame, .buffer = std::move(buffer)});
  list.QueueSend(token.work_request_id(), bytes, length, lkey, false);
  if (reported) list.Await();
  list.LeaveRoom(room);
  ++send_buffers_held_;
  group_->counters().frames_sent.Add(1);
}

bool Link::MustPark() {
  // READs complete in the order of the machine's asking: none overtakes.
  if (parked_.empty() && !group_->TooManyInFlight()) return false;
  WaitForRoom();
  if (sends_ != nullptr) sends_->LeaveRoom(0);  // The machine counts what comes next as behind this.
  return true;
}

void Link::QueueHeader(const wire::FrameHeader& header) {
  if (MustPark()) return parked_.push_back(header);
  Flight flight{.kind = WorkKind::kHeader};
  uint32_t lkey = 0;
  if (!inline_headers_) {
    absl::StatusOr<RegisteredPool::Buffer> buffer = group_->TakeHeaderBuffer();
    if (!buffer.ok()) return FailLater(buffer.status());
    lkey = buffer->lkey();
    flight.buffer = *std::move(buffer);
  }
  SendList& list = Queue();
  std::byte* const bytes = inline_headers_ ? list.NextHeader() : flight.buffer.data();
  wire::EncodeFrameHeader(header, bytes);
  const verbs::CompletionToken token = flights().Add(std::move(flight));
  list.QueueSend(token.work_request_id(), bytes, wire::kFrameHeaderBytes, lkey, inline_headers_);
  list.Await();
  group_->counters().frames_sent.Add(1);
}

void Link::QueueRead(const ReadRequest& read) {
  if (MustPark()) return parked_.push_back(read);
  SendList& list = Queue();
  const auto token = flights().Add({.kind = WorkKind::kRead, .awaited = true, .fetch_id = read.fetch_id});
  list.QueueRead(token.work_request_id(), read.to, read.length, read.lkey, read.remote_address, read.rkey);
  group_->counters().reads.Add(1);
}

bool Link::MayBind(size_t windows) const {
  const auto more = static_cast<uint32_t>(windows);
  return phase_ == Phase::kOpen && window_work_ + more <= kWindowWorkMax && !group_->TooManyInFlight(more);
}

uint32_t Link::QueueBind(verbs::MemoryWindow& window, const verbs::MemoryRegion& region,
                         absl::Span<const std::byte> bytes) {
  SendList& list = Queue();
  const verbs::CompletionToken token = flights().Add({.kind = WorkKind::kBind});
  window.PrepareBind(region, bytes, IBV_ACCESS_REMOTE_READ, &list.QueueBind(token.work_request_id()));
  ++window_work_;
  return window.rkey();
}

void Link::QueueInvalidate(const verbs::MemoryWindow& window) {
  if (MustPark() || window_work_ == kWindowWorkMax) {
    WaitForRoom();
    return parked_.push_back(&window);
  }
  SendList& list = Queue();
  const verbs::CompletionToken token = flights().Add({.kind = WorkKind::kInvalidate, .awaited = true});
  window.PrepareInvalidate(&list.QueueInvalidate(token.work_request_id()));
  ++window_work_;
}

void Link::QueueParked() {
  const std::vector<Parked> again = std::exchange(parked_, {});
  for (const Parked& parked : again) {
    if (const auto* header = std::get_if<wire::FrameHeader>(&parked); header != nullptr) {
      QueueHeader(*header);
    } else if (const auto* read = std::get_if<ReadRequest>(&parked); read != nullptr) {
      QueueRead(*read);
    } else {
      QueueInvalidate(*std::get<const verbs::MemoryWindow*>(parked));
    }
  }
  AwaitSends();  // Perhaps one of them is awaited.
}

void Link::Post() {
  const LendingPool<SendList>::Lent list = std::move(sends_);
  // What follows a refused post must not arrive without it.
  if (refused_) return Forget(list->Discard());
  group_->counters().doorbells.Add(1);
  if (!LeaveUnsignaled(*list) && list->covers()) EndUnsignaled();
  ibv_send_wr* unposted = nullptr;
  absl::Status status = list->Flush(*queue_pair_, &unposted);
  if (status.ok()) return;
  refused_ = true;
  Forget(unposted);
  FailLater(std::move(status));
}

// So many that what they hold, of this link and of all together, is little of what there is: the rest comes back, and a
// link that waits for a send buffer gets one.
bool Link::LeaveUnsignaled(SendList& list) {
  const auto sends = static_cast<uint32_t>(list.size());
  if (unsignaled_ + sends > protocol::kUnsignaledSendsMax || !group_->MayLeaveUnsignaled(sends)) return false;
  if (!list.LeaveUnsignaled()) return false;
  unsignaled_ += sends;
  group_->CountUnsignaled(sends);
  group_->counters().sends_unsignaled.Add(sends);
  return true;
}

void Link::Forget(const ibv_send_wr* unposted) {
  for (; unposted != nullptr; unposted = unposted->next) {
    const auto token = verbs::CompletionToken::FromWorkRequestId(unposted->wr_id);
    Landed(flights().Of(token.kind<WorkKind>()).TakeNewest());
  }
  group_->WakeWaiting();
}

void Link::FailLater(absl::Status status) {
  if (failed_) return;
  failed_ = true;
  group_->Defer([group = group_, number = number_, queue_pair = queue_pair_->number(), status = std::move(status)] {
    if (Link* link = group->FindLink(queue_pair); link != nullptr && link->number_ == number) {
      link->owner_->OnFailure(status);
    }
  });
}

void Link::OnReceiveCompleted(uint32_t receive, const ibv_wc& completion) {
  ReceiveSupply& supply = receives();
  supply.OnCompleted();
  if (phase_ != Phase::kOpen) {
    supply.RepostUnseen(receive);
    if (own_receives_ != nullptr && own_receives_->posted() == 0) OnLastReceiveTaken();
    return;
  }
  if (completion.status != IBV_WC_SUCCESS) {
    supply.RepostUnseen(receive);
    return FailOrAwaitCause(completion, "RECEIVE");
  }
  // A WRITE with immediate takes a receive and leaves in it what stood there, somebody else's frame perhaps: no frame.
  const size_t length = completion.opcode == IBV_WC_RECV ? completion.byte_len : 0;
  const absl::Span<const std::byte> bytes(supply.data(receive), length);
  if (owner_->OnSendArrived(receive, bytes)) supply.Repost(receive);
  if (own_receives_ != nullptr) own_receives_->ReportGrants();  // This may have no turn's end.
}

void Link::Landed(const Flight& flight) {
  if (flight.kind == WorkKind::kFrame) --send_buffers_held_;
  if (flight.kind == WorkKind::kBind || flight.kind == WorkKind::kInvalidate) --window_work_;
}

void Link::OnCompletion(verbs::CompletionToken token, const ibv_wc& completion) {
  FlightQueue& flights = this->flights().Of(token.kind<WorkKind>());
  if (!flights.Covers(token)) return;  // It comes late, from a link that is gone.
  uint32_t sends = 0;
  while (flights.Covers(token)) {
    const Flight flight = flights.TakeOldest();
    Landed(flight);
    if (ending()) continue;
    // The completion's status is that of the last; those before it have succeeded.
    if (completion.status != IBV_WC_SUCCESS && !flights.Covers(token)) {
      FailOrAwaitCause(completion, OperationOf(flight.kind));
    } else if (flight.kind == WorkKind::kFrame || flight.kind == WorkKind::kHeader) {
      ++sends;
    } else if (flight.kind == WorkKind::kRead) {
      owner_->OnReadDone(flight.fetch_id);
    } else if (flight.kind == WorkKind::kInvalidate) {
      owner_->OnInvalidated();
    }
  }
  if (sends > 0) owner_->OnSendsDone(sends);
  if (phase_ == Phase::kFlushing && AllCompleted()) EndSoon();
}

void Link::OnQueueFailed(const absl::Status& status) {
  if (phase_ == Phase::kFlushing) return EndSoon();
  if (!std::exchange(failed_, true)) owner_->OnFailure(status);
}

// What was flushed says that the queue pair has failed and not why. Something else that failed does, or the connection
// manager, soon: a loop that was held up finds what it posts flushed before it hears that the peer has disconnected.
void Link::FailOrAwaitCause(const ibv_wc& completion, const char* operation) {
  if (completion.status != IBV_WC_WR_FLUSH_ERR) return Fail(completion, operation);
  if (failed_ || end_timer_ != 0) return;
  // The wait begins in a later turn: this one may last on, and timers run before the connection manager is looked at.
  SetEndTimer(absl::Milliseconds(1), [this, completion, operation] {
    SetEndTimer(kCauseWait, [this, completion, operation] {
      end_timer_ = 0;
      Fail(completion, operation);
    });
  });
}

void Link::Fail(const ibv_wc& completion, const char* operation) {
  if (std::exchange(failed_, true)) return;
  owner_->OnFailure(verbs::CompletionError(completion, operation));
}

}  // namespace verbena::transport
