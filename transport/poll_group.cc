#include "transport/poll_group.h"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "transport/link.h"
#include "transport/log.h"

namespace verbena::transport {
namespace {

constexpr int kCompletionsPerReap = 32;
// Completion batches in one turn; then timers and posted tasks have their turn.
constexpr int kReapsPerTurn = 8;
// Empty polls between two looks at what the grant budget wants: it changes with traffic, and slowly with time.
constexpr uint32_t kIdlePollsPerWakeup = 64;
// Receives are reposted in lists of this many, or when there is nothing else to do.
constexpr size_t kRepostBatch = 32;
// Work requests in flight that name no send buffer: frame headers and READs.
constexpr uint32_t kUnbufferedFlightsMax = 4096;
// Receive and header buffers are added in slabs of this many.
constexpr uint32_t kSlabBuffers = 128;

absl::Status CheckSizes(const TransportOptions& options, const ibv_device_attr& device, absl::string_view name) {
  if (device.max_srq <= 0) {
    return absl::FailedPreconditionError(absl::StrCat(name, ": the device has no shared receive queue"));
  }
  const auto receives_max = static_cast<uint32_t>(std::max(device.max_srq_wr, 0));
  if (options.receive_buffers > receives_max) {
    return absl::InvalidArgumentError(absl::StrCat("receive_buffers is ", options.receive_buffers, "; ", name,
                                                   " has room for ", receives_max, " in a shared receive queue"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<PollGroup*> PollGroup::For(EventLoop* loop, DeviceContext* device, const TransportOptions& options) {
  std::shared_ptr<void>& local = loop->Local(device);
  if (local == nullptr) {
    std::shared_ptr<PollGroup> made(new PollGroup(loop, *device, options));
    if (absl::Status status = made->Initialize(); !status.ok()) return status;
    local = std::move(made);
  }
  return static_cast<PollGroup*>(local.get());
}

PollGroup::PollGroup(EventLoop* loop, DeviceContext& device, const TransportOptions& options)
    : loop_(loop),
      device_(device),
      options_(options),
      receives_(device.domain(), options.receive_buffer_bytes, IBV_ACCESS_LOCAL_WRITE),
      sends_(device.domain(), options.receive_buffer_bytes, 0),
      headers_(device.domain(), wire::kFrameHeaderBytes, 0),
      fetch_budget_(options.fetch_bytes_max, &counters_.landing_bytes),
      landing_loans_(loop, &fetch_budget_),
      export_budget_(options.export_bytes_max, &counters_.exported_bytes) {}

absl::Status PollGroup::Initialize() {
  const ibv_device_attr& attributes = device_.device().attributes();
  const absl::string_view name = device_.device().name();
  if (absl::Status status = CheckSizes(options_, attributes, name); !status.ok()) return status;
  absl::StatusOr<verbs::CompletionChannel> channel = verbs::CompletionChannel::Create(device_.device());
  if (!channel.ok()) return channel.status();
  channel_ = *std::move(channel);

  flights_max_ = options_.send_buffers + kUnbufferedFlightsMax;
  const uint64_t receives_wanted =
      options_.receive_buffers + uint64_t{protocol::kCreditsPerConnectionMin} * options_.connections_max + kSlabBuffers;
  const auto completions_max = static_cast<uint64_t>(std::max(attributes.max_cqe, 0));
  if (completions_max <= flights_max_ + options_.receive_buffers) {
    return absl::InvalidArgumentError(
        absl::StrCat("receive_buffers and send_buffers need a completion queue of more than ",
                     flights_max_ + options_.receive_buffers, " entries; ", name, " has ", completions_max));
  }
  const uint64_t receives_max =
      std::min({receives_wanted, static_cast<uint64_t>(attributes.max_srq_wr), completions_max - flights_max_});
  absl::StatusOr<verbs::CompletionQueue> completions =
      verbs::CompletionQueue::Create(device_.device(), static_cast<int>(receives_max + flights_max_), &*channel_, 0);
  if (!completions.ok()) return completions.status();
  completions_.emplace(*std::move(completions));
  deferred_.set_capacity(receives_max + flights_max_);
  absl::StatusOr<verbs::SharedReceiveQueue> shared =
      verbs::SharedReceiveQueue::Create(device_.domain(), static_cast<uint32_t>(receives_max), 1);
  if (!shared.ok()) return shared.status();
  shared_receives_ = *std::move(shared);

  if (absl::Status status = AddReceives(options_.receive_buffers); !status.ok()) return status;
  // Half of them serve whoever is active; the other half, and what is added later, provide each connection's minimum.
  grants_.OnReceivesAdded(receives_kept_ / 2);
  receives_kept_ -= receives_kept_ / 2;
  if (absl::Status status = sends_.Grow(options_.send_buffers); !status.ok()) return status;
  if (absl::Status status = loop_->AddFd(channel_->fd(), this); !status.ok()) return status;
  if (absl::Status status = loop_->AddFd(device_.device().async_event_fd(), this); !status.ok()) return status;
  loop_->AddSource(this);
  return absl::OkStatus();
}

PollGroup::~PollGroup() {
  for (size_t i = 0; i < links_.size(); ++i) {
    if (links_[i] != nullptr) links_[i]->Finish();
  }
  deferred_.OnQueueFailed();  // Nothing is waited for any more.
  deferred_.RunRipe();
  loop_->CancelTimer(watch_timer_);
  if (channel_.has_value()) {
    loop_->RemoveSource(this);
    loop_->RemoveFd(device_.device().async_event_fd());
    loop_->RemoveFd(channel_->fd());
  }
  shared_receives_.reset();  // Before the receive buffers that it names.
}

absl::Status PollGroup::AddReceives(uint32_t count) {
  if (posted_.size() + count > shared_receives_->receives_max()) {
    return absl::ResourceExhaustedError(absl::StrCat("the shared receive queue of ", device_.device().name(),
                                                     " is full: ", shared_receives_->receives_max(), " receives"));
  }
  if (absl::Status status = receives_.Grow(count); !status.ok()) return status;
  for (uint32_t i = 0; i < count; ++i) {
    RegisteredPool::Buffer buffer = *receives_.Take();
    used_.push_back(buffer.index());
    posted_.push_back(std::move(buffer));
  }
  counters_.receive_buffers.Add(count);
  // Slab by slab the pool hands out its buffers in order, so posted_ is indexed by the buffer's number.
  receives_new_ += count;
  PostReceives();
  return absl::OkStatus();
}

absl::Status PollGroup::ReserveConnection() {
  if (failed_) {
    return absl::UnavailableError(absl::StrCat("the completion queue of ", device_.device().name(), " has failed"));
  }
  const uint64_t connections = counters_.connections.value() + 1;
  if (connections > options_.connections_max) {
    return absl::ResourceExhaustedError(absl::StrCat("connections_max of ", options_.connections_max, " is reached"));
  }
  if (connections > connections_provided_) {
    if (receives_kept_ < protocol::kCreditsPerConnectionMin) {
      if (absl::Status status = AddReceives(kSlabBuffers); !status.ok()) return status;
    }
    if (receives_kept_ < protocol::kCreditsPerConnectionMin) {
      return absl::ResourceExhaustedError("the device refused receives for one more connection");
    }
    receives_kept_ -= protocol::kCreditsPerConnectionMin;
    grants_.OnReceivesAdded(protocol::kCreditsPerConnectionMin);
    ++connections_provided_;
  }
  counters_.connections.Add(1);
  return absl::OkStatus();
}

uint32_t PollGroup::AddLink(Link* link) {
  if (free_links_.empty()) {
    free_links_.push_back(static_cast<uint32_t>(links_.size()));
    links_.push_back(nullptr);
  }
  const uint32_t number = free_links_.back();
  free_links_.pop_back();
  links_[number] = link;
  return number;
}

void PollGroup::BindQueuePair(uint32_t queue_pair_number, uint32_t link) {
  link_of_queue_pair_[queue_pair_number] = link;
}

void PollGroup::RemoveLink(uint32_t number, uint32_t queue_pair_number) {
  link_of_queue_pair_.erase(queue_pair_number);
  links_[number] = nullptr;
  free_links_.push_back(number);
}

Link* PollGroup::FindLink(uint32_t queue_pair_number) const {
  const auto found = link_of_queue_pair_.find(queue_pair_number);
  return found == link_of_queue_pair_.end() ? nullptr : links_[found->second];
}

void PollGroup::MarkDirty(uint32_t link) { dirty_.push_back(link); }

absl::StatusOr<RegisteredPool::Buffer> PollGroup::TakeHeaderBuffer() {
  if (headers_.free() == 0) {
    if (absl::Status status = headers_.Grow(kSlabBuffers); !status.ok()) return status;
  }
  return *headers_.Take();
}

int PollGroup::Poll() {
  const int reaped = Reap();
  int handled = reaped + RunDirty();
  if (reaped > 0 || grants_grew_ || ++idle_polls_ % kIdlePollsPerWakeup == 0) WakeForGrants();
  handled += static_cast<int>(dirty_.size());  // Woken just now: their turn is the next.
  if (!deferred_.empty()) {
    deferred_.RunRipe();
    ++handled;
  }
  if (used_.size() >= kRepostBatch || (handled == 0 && !used_.empty())) {
    const size_t used = used_.size();
    PostReceives();
    if (used_.size() < used) ++handled;  // Whoever waits for grants has them now: a turn more before the loop sleeps.
  }
  counters_.credits_granted.Set(grants_.outstanding());
  return handled;
}

int PollGroup::Reap() {
  std::array<ibv_wc, kCompletionsPerReap> completions;
  int reaped = 0;
  for (int round = 0; round < kReapsPerTurn && !failed_; ++round) {
    deferred_.OnPoll();
    const int count = completions_->Poll(absl::MakeSpan(completions));
    if (count < 0) {
      Fail(completions_->PollError(count));
      break;
    }
    for (int i = 0; i < count; ++i) HandleCompletion(completions[i]);
    reaped += count;
    const bool emptied = count < kCompletionsPerReap;
    deferred_.OnPolled(static_cast<uint64_t>(count), emptied);
    if (emptied) break;
  }
  if (reaped > 0) WakeWaiting();
  return reaped;
}

void PollGroup::WakeWaiting() {
  dirty_.insert(dirty_.end(), waiting_.begin(), waiting_.end());
  waiting_.clear();
}

void PollGroup::DropFlights(uint32_t link) {
  flights_.RemoveAll(link);
  WakeWaiting();
}

void PollGroup::HandleCompletion(const ibv_wc& completion) {
  const auto token = verbs::CompletionToken::FromWorkRequestId(completion.wr_id);
  if (token.kind<WorkKind>() == WorkKind::kReceive) {
    counters_.receives_posted.Subtract(1);
    Link* const link = FindLink(completion.qp_num);
    if (link != nullptr) {
      link->OnReceive(token.index(), completion);
    } else {
      RepostUnseen(token.index());
    }
    return;
  }
  Flight flight;
  if (!flights_.Remove(token, &flight)) return;
  links_[flight.link]->OnCompletion(flight, completion);
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
  deferred_.OnQueueFailed();
  Log(Severity::kError, status.message());
  for (size_t i = 0; i < links_.size(); ++i) {  // By index: an owner may make another.
    if (links_[i] != nullptr) links_[i]->OnQueueFailed(status);
  }
}

void PollGroup::WakeForGrants() {
  grants_grew_ = false;
  while (const std::optional<uint32_t> number = grants_.NextWakeup(loop_->Now())) {
    if (links_[*number] != nullptr) links_[*number]->OnGrantsWakeup();
  }
}

void PollGroup::WatchBudgets() {
  if (watch_timer_ != 0) return;
  const absl::Time since = std::min(fetch_budget_.waiting_since().value_or(absl::InfiniteFuture()),
                                    export_budget_.waiting_since().value_or(absl::InfiniteFuture()));
  if (since == absl::InfiniteFuture()) return;
  // What was done for one may take a while to help: looked at again a few times in the span that is allowed.
  const absl::Duration timeout = options_.memory_wait_timeout;
  watch_timer_ = loop_->AddTimer(std::max(since + timeout, loop_->Now() + timeout / 4), [this] {
    watch_timer_ = 0;
    RelieveBudgets();
    WatchBudgets();
  });
}

void PollGroup::RelieveBudgets() {
  const absl::Time long_ago = loop_->Now() - options_.memory_wait_timeout;
  const auto waits_too_long = [long_ago](const MemoryBudget& budget) {
    const std::optional<absl::Time> since = budget.waiting_since();
    return since.has_value() && *since <= long_ago;
  };
  while (waits_too_long(fetch_budget_) && fetch_budget_.FirstWaitsForLent()) fetch_budget_.DenyFirst();
  if (!waits_too_long(export_budget_)) return;
  const std::optional<ExportHolders::Holder> holder = export_holders_.MostStalled(long_ago);
  if (!holder.has_value() || links_[holder->link] == nullptr) return;
  links_[holder->link]->OnExportsStalled(absl::ResourceExhaustedError(
      absl::StrCat("the peer has finished none of the ", holder->bytes, " bytes exported to it within the ",
                   "memory_wait_timeout of ", absl::FormatDuration(options_.memory_wait_timeout),
                   ", and others wait for exported memory")));
}

void PollGroup::PostReceives() {
  std::array<ibv_recv_wr, kRepostBatch> requests;
  std::array<ibv_sge, kRepostBatch> segments;
  while (!used_.empty()) {
    const size_t count = std::min(used_.size(), kRepostBatch);
    const uint32_t* const numbers = used_.data() + used_.size() - count;
    for (size_t i = 0; i < count; ++i) {
      const RegisteredPool::Buffer& buffer = posted_[numbers[i]];
      segments[i] = {.addr = reinterpret_cast<uint64_t>(buffer.data()),
                     .length = static_cast<uint32_t>(receives_.buffer_bytes()),
                     .lkey = buffer.lkey()};
      requests[i] = {};
      requests[i].wr_id = verbs::CompletionToken::Of(WorkKind::kReceive, numbers[i], 0).work_request_id();
      requests[i].sg_list = &segments[i];
      requests[i].num_sge = 1;
      requests[i].next = i + 1 < count ? &requests[i + 1] : nullptr;
    }
    ibv_recv_wr* unposted = nullptr;
    const absl::Status status = shared_receives_->PostReceives(requests.data(), &unposted);
    const size_t posted = status.ok() ? count : static_cast<size_t>(unposted - requests.data());
    used_.erase(used_.end() - static_cast<ptrdiff_t>(count), used_.end() - static_cast<ptrdiff_t>(count - posted));
    CountPosted(static_cast<uint32_t>(posted));
    if (!status.ok()) return Log(Severity::kError, status.message());  // Tried again in a later turn.
  }
}

void PollGroup::CountPosted(uint32_t count) {
  const uint32_t added = std::min(count, receives_new_);
  receives_new_ -= added;
  receives_kept_ += added;
  if (count > added) grants_.OnReceivesReposted(count - added);
  grants_grew_ = true;
  counters_.receives_posted.Add(count);
}

void PollGroup::Arm() {
  if (armed_ || failed_) return;
  armed_ = completions_->RequestNotify(/*solicited_only=*/false).ok();
}

void PollGroup::OnReadable(int fd) {
  if (fd != channel_->fd()) return device_.DispatchAsyncEvents();
  while (true) {
    const absl::StatusOr<ibv_cq*> queue = channel_->NextEvent();
    if (!queue.ok() || *queue == nullptr) return;
    armed_ = false;
  }
}

}  // namespace verbena::transport
