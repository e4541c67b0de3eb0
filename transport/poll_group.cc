#include "transport/poll_group.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "transport/link.h"
#include "transport/log.h"
#include "transport/queue_sizes.h"
#include "transport/read_sizes.h"

namespace verbena::transport {
namespace {

constexpr int kCompletionsPerBatch = 32;
// The longer a turn the more of what it sends to a peer shares a SEND. After so many batches of completions, so many
// frames received, or so long after the loop's turn began, there is no further batch: timers and posted tasks have
// their turn.
constexpr int kBatchesPerTurn = 32;
constexpr uint64_t kFramesPerTurn = 1024;
constexpr absl::Duration kTurnMax = absl::Milliseconds(2);
// Empty polls between two looks at what the grant budget wants: it changes with traffic, and slowly with time.
constexpr uint32_t kIdlePollsPerWakeup = 64;
// Work requests in flight that name no send buffer: frame headers and READs.
constexpr uint32_t kUnbufferedFlightsMax = 4096;

WorkKind KindOf(const ibv_wc& completion) {
  return verbs::CompletionToken::FromWorkRequestId(completion.wr_id).kind<WorkKind>();
}

}  // namespace

absl::StatusOr<std::shared_ptr<PollGroup>> PollGroup::For(EventLoop* loop, std::shared_ptr<DeviceContext> device,
                                                          const TransportOptions& options) {
  std::shared_ptr<void>& local = loop->Local(device.get());
  if (local != nullptr) return static_cast<PollGroup*>(local.get())->shared_from_this();
  std::shared_ptr<PollGroup> made(new PollGroup(loop, std::move(device), options));
  // The loop's part in it ends with Close, however long others hold it.
  std::shared_ptr<void> closing(made.get(), [made](void*) { made->Close(); });
  if (absl::Status status = made->Initialize(); !status.ok()) return status;
  local = std::move(closing);
  return made;
}

PollGroup::PollGroup(EventLoop* loop, std::shared_ptr<DeviceContext> device, const TransportOptions& options)
    : loop_(loop),
      device_(std::move(device)),
      options_(options),
      receives_(device_->domain(), options.receive_buffer_bytes, IBV_ACCESS_LOCAL_WRITE),
      sends_(device_->domain(), options.receive_buffer_bytes, 0),
      headers_(device_->domain(), wire::kFrameHeaderBytes, 0),
      fetch_window_(ChooseReadSizes(options, device_->device()).window_bytes),
      fetch_budget_(options.fetch_bytes_max, &counters_.landing_bytes),
      landing_loans_(loop, &fetch_budget_),
      export_budget_(options.export_bytes_max, &counters_.exported_bytes),
      kept_memory_(loop, [this] { return GiveBackUnused(); }) {}

PollGroup::~PollGroup() = default;

absl::Status PollGroup::Initialize() {
  const ibv_device_attr& attributes = device_->device().attributes();
  const absl::string_view name = device_->device().name();
  if (absl::Status status = CheckReceives(options_, attributes, name); !status.ok()) return status;
  absl::StatusOr<verbs::CompletionChannel> channel = verbs::CompletionChannel::Create(device_->device());
  if (!channel.ok()) return channel.status();
  channel_ = *std::move(channel);

  flights_max_ = options_.send_buffers + kUnbufferedFlightsMax;
  const uint64_t receives_wanted = ReceivesWanted(options_, attributes);
  const auto completions_max = static_cast<uint64_t>(std::max(attributes.max_cqe, 0));
  if (completions_max <= flights_max_ + options_.receive_buffers) {
    return absl::InvalidArgumentError(
        absl::StrCat("receive_buffers and send_buffers need a completion queue of more than ",
                     flights_max_ + options_.receive_buffers, " entries; ", name, " has ", completions_max));
  }
  receives_max_ = static_cast<uint32_t>(std::min(receives_wanted, completions_max - flights_max_));
  absl::StatusOr<verbs::CompletionQueue> completions = verbs::CompletionQueue::Create(
      device_->device(), static_cast<int>(receives_max_ + flights_max_), &*channel_, device_->TakeCompletionVector());
  if (!completions.ok()) return completions.status();
  completions_.emplace(*std::move(completions));
  deferred_.set_capacity(receives_max_ + flights_max_);

  if (attributes.max_srq > 0) {
    absl::StatusOr<std::unique_ptr<SharedReceives>> shared =
        SharedReceives::Make(device_->domain(), SupplySurroundings(),
                             {.at_first = options_.receive_buffers,
                              .max = receives_max_,
                              .spare_max = SpareReceives(options_, receives_max_)});
    if (!shared.ok()) return shared.status();
    shared_ = *std::move(shared);
  }
  if (absl::Status status = sends_.Grow(options_.send_buffers); !status.ok()) return status;
  return ListenToEvents();
}

absl::Status PollGroup::ListenToEvents() {
  for (const int fd : {channel_->fd(), device_->async_event_fd(), device_->cm_event_fd()}) {
    if (absl::Status status = loop_->AddFd(fd, this); !status.ok()) return status;
  }
  loop_->AddSource(this);
  const auto on_loop = [loop = loop_, weak = weak_from_this()](auto what) {
    loop->Post([weak, what] {
      if (const auto group = weak.lock(); group != nullptr) what(*group);
    });
  };
  return device_->AddUser(this,
                          {.on_removed = [on_loop] { on_loop([](PollGroup& group) { group.OnDeviceRemoved(); }); },
                           .on_receives_low =
                               [on_loop](const ibv_srq* queue) {
                                 on_loop([queue](PollGroup& group) {
                                   if (group.shared_ != nullptr) group.shared_->OnLow(queue);
                                 });
                               }});
}

void PollGroup::Close() {
  for (size_t i = 0; i < links_.size(); ++i) {
    if (links_[i] != nullptr) links_[i]->Finish();
  }
  deferred_.OnQueueFailed();  // Nothing is waited for any more.
  deferred_.RunRipe();
  loop_->CancelTimer(window_timer_);
  loop_->CancelTimer(watch_timer_);
  loop_->CancelTimer(sweep_timer_);
  loop_->CancelTimer(refused_timer_);
  kept_memory_.Cancel();
  device_->RemoveUser(this);
  loop_->RemoveSource(this);
  loop_->RemoveFd(device_->cm_event_fd(), this);
  loop_->RemoveFd(device_->async_event_fd(), this);
  if (channel_.has_value()) loop_->RemoveFd(channel_->fd(), this);
  if (shared_ != nullptr) shared_->Close();  // Before the receive buffers that the queue names.
}

uint32_t PollGroup::AddLink(Link* link) {
  if (free_links_.empty()) {
    free_links_.push_back(static_cast<uint32_t>(links_.size()));
    flights_.emplace_back(static_cast<uint32_t>(links_.size()), &in_flight_);
    links_.push_back(nullptr);
    peer_solicits_.push_back(false);
  }
  const uint32_t number = free_links_.back();
  free_links_.pop_back();
  links_[number] = link;
  ++links_made_;
  kept_memory_.OnLink();
  return number;
}

void PollGroup::BindQueuePair(uint32_t queue_pair_number, uint32_t link) {
  link_of_queue_pair_[queue_pair_number] = link;
}

void PollGroup::RemoveLink(uint32_t number, uint32_t queue_pair_number) {
  link_of_queue_pair_.erase(queue_pair_number);
  recent_[queue_pair_number % recent_.size()] = {};
  links_[number] = nullptr;
  if (peer_solicits_[number]) --soliciting_peers_;
  peer_solicits_[number] = false;
  free_links_.push_back(number);
  kept_memory_.OnLinkGone();
  if (removed_) DropIfUnused();
}

void PollGroup::OnPeerSolicits(uint32_t link) {
  peer_solicits_[link] = true;
  ++soliciting_peers_;
}

Link* PollGroup::FindLink(uint32_t queue_pair_number) const {
  const auto found = link_of_queue_pair_.find(queue_pair_number);
  return found == link_of_queue_pair_.end() ? nullptr : links_[found->second];
}

Link* PollGroup::FindRecent(uint32_t queue_pair_number) {
  Recent& recent = recent_[queue_pair_number % recent_.size()];
  if (recent.link == nullptr || recent.queue_pair != queue_pair_number) {
    recent = {queue_pair_number, FindLink(queue_pair_number)};
  }
  return recent.link;
}

void PollGroup::MarkDirty(uint32_t link) { dirty_.push_back(link); }

absl::StatusOr<RegisteredPool::Buffer> PollGroup::TakeHeaderBuffer() {
  if (headers_.free() == 0) {
    if (absl::Status status = headers_.Grow(kSlabBuffers); !status.ok()) return status;
  }
  return headers_.Take();
}

int PollGroup::Poll() {
  ++polls_awake_;
  const uint64_t frames = counters_.frames_received.value();
  const int reaped = Reap();
  waited_ = counters_.frames_received.value() == frames;
  int handled = reaped + ServeWaitingForBuffer() + RunDirty();
  const bool look_at_grants = reaped > 0 || ++idle_polls_ % kIdlePollsPerWakeup == 0;
  if (look_at_grants && shared_ != nullptr) WakeForGrants(shared_->supply());
  handled += static_cast<int>(dirty_.size());                         // Woken just now: their turn is the next.
  if (buffers_came_back_ && !waiting_for_buffer_.empty()) ++handled;  // The same.
  if (!deferred_.empty()) {
    deferred_.RunRipe();
    ++handled;
  }
  handled += PostReceives(/*idle=*/handled == 0);
  if (shared_ != nullptr) shared_->supply().ReportGrants();
  return handled;
}

int PollGroup::Reap() {
  std::array<ibv_wc, kCompletionsPerBatch> completions;
  int reaped = 0;
  const absl::Time began = loop_->Now();
  const uint64_t enough = counters_.frames_received.value() + kFramesPerTurn;
  for (int batch = 0; batch < kBatchesPerTurn && !failed_ && counters_.frames_received.value() < enough; ++batch) {
    deferred_.OnPoll();
    const int count = completions_->Poll(absl::MakeSpan(completions));
    if (count < 0) {
      const absl::Status status = completions_->PollError(count);
      Log(Severity::kError, status.message());
      Fail(status);
      break;
    }
    if (early_wakes_.judging() && count > 0) early_wakes_.OnPolled(KindOf(completions[0]) != WorkKind::kReceive);
    const bool emptied = count < kCompletionsPerBatch;
    for (int i = 0; i < count; ++i) {
      handling_last_ = emptied && i + 1 == count;
      HandleCompletion(completions[i]);
    }
    reaped += count;
    deferred_.OnPolled(static_cast<uint64_t>(count), emptied);
    if (emptied || loop_->ReadNow() >= began + kTurnMax) break;
  }
  handling_last_ = false;
  if (reaped > 0) WakeWaiting();
  return reaped;
}

void PollGroup::DropFlights(uint32_t link) {
  flights_[link].Clear();
  WakeWaiting();
}

void PollGroup::HandleCompletion(const ibv_wc& completion) {
  const auto token = verbs::CompletionToken::FromWorkRequestId(completion.wr_id);
  if (token.kind<WorkKind>() == WorkKind::kReceive) {
    Link* const link = FindRecent(completion.qp_num);
    if (link != nullptr) return link->OnReceiveCompleted(token.index(), completion);
    if (shared_ == nullptr) return;  // It went with its queue pair.
    shared_->supply().OnCompleted();
    shared_->supply().RepostUnseen(token.index());
    return;
  }
  assert(token.index() < links_.size());  // Every token is made with the number of a link.
  Link* const link = links_[token.index()];
  if (link != nullptr) link->OnCompletion(token, completion);
}

int PollGroup::RunDirty() {
  running_dirty_.swap(dirty_);  // What is marked from here on waits for the next turn.
  const int count = static_cast<int>(running_dirty_.size());
  for (const uint32_t number : running_dirty_) {
    if (links_[number] != nullptr) links_[number]->OnTurnEnd();
  }
  running_dirty_.clear();
  return count;
}

void PollGroup::Fail(const absl::Status& status) {
  failed_ = true;
  failure_ = status;
  deferred_.OnQueueFailed();
  for (size_t i = 0; i < links_.size(); ++i) {  // By index: an owner may make another.
    if (links_[i] != nullptr) links_[i]->OnQueueFailed(status);
  }
}

void PollGroup::OnDeviceRemoved() {
  removed_ = true;
  // What has completed is handled first. Links end by themselves as well, if their ids are told, but might wait for
  // what completes no more.
  Defer([this] {
    if (!failed_) Fail(device_->RemovedError());
  });
  DropIfUnused();
}

void PollGroup::DropIfUnused() {
  if (links_.size() > free_links_.size()) return;
  loop_->Post([weak = weak_from_this()] {  // When nothing of this is on the stack.
    if (const auto group = weak.lock(); group != nullptr) group->loop_->DropLocal(group->device_.get());
  });
}

// A peer that says that it solicits and does not must not empty the receives, which are the others' too, unseen. iWARP
// devices raise no event for solicited completions only (docs/devices.md).
bool PollGroup::OnlySolicitedMatter() {
  return in_flight_.awaited == 0 && waiting_.empty() && waiting_for_buffer_.empty() && fetch_budget_.waiting() == 0 &&
         soliciting_peers_ == links_.size() - free_links_.size() && !device_->device().is_iwarp() &&
         (shared_ == nullptr || shared_->WatchForLow());
}

void PollGroup::Arm() {
  if (failed_) return;
  WatchRefusedReceives();
  early_wakes_.OnSleep(counters_.frames_received.value());
  polls_awake_ = 0;
  const bool own_complete = in_flight_.all > unsignaled_;
  const bool only_solicited = OnlySolicitedMatter() && !(own_complete ? early_wakes_.Wanted() : in_flight_.all > 0);
  const Armed wanted = only_solicited ? Armed::kForSolicited : Armed::kForAnything;
  if (wanted > armed_ && completions_->RequestNotify(wanted == Armed::kForSolicited).ok()) armed_ = wanted;
  if (armed_ != Armed::kForSolicited || !own_complete) {
    loop_->CancelTimer(std::exchange(sweep_timer_, 0));
    return;
  }
  if (sweep_timer_ != 0) return;
  sweep_timer_ = loop_->AddTimer(loop_->Now() + kSweepInterval, [this] { sweep_timer_ = 0; });  // The loop has polled.
}

void PollGroup::OnReadable(int fd) {
  if (fd != channel_->fd()) return device_->DispatchEvents();
  // One for each arming; should there be another, the descriptor stays readable.
  const absl::StatusOr<ibv_cq*> queue = channel_->NextEvent();
  if (!queue.ok() || *queue == nullptr) return;
  armed_ = Armed::kNot;
  counters_.completion_events.Add(1);
  early_wakes_.OnWoken(counters_.frames_received.value());
}

}  // namespace verbena::transport
