#include "transport/soft/completion_queue.h"

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <utility>

#include "transport/soft/control_io/forked_child.h"
#include "transport/soft/process_faults.h"

namespace verbena::soft {

CompletionQueue::CompletionQueue(ibv_context* device_context, uint32_t index, uint32_t capacity, void* user_context,
                                 CompletionChannel* event_channel, ReadyMap ready, PublishedQueue* published,
                                 AsyncEvents* events, ProgressThread* progress_thread)
    : index_(index),
      channel_(event_channel),
      async_events_(events),
      progress_thread_(progress_thread),
      ready_(std::move(ready)),
      unattended_(progress_thread->enabled()),
      watched_(published->watched),
      capacity_(capacity),
      place_(capacity),
      entries_(place_.places()),
      armed_(&published->armed) {
  context = device_context;
  channel = event_channel;
  cq_context = user_context;
  handle = index;
  cqe = static_cast<int>(capacity);
  armed_.Disarm();
  watched_.store(0);
  SetUnattended(unattended_);
  FaultPlan faults = FaultsOfNewObject(FaultObject::kCompletionQueue);
  if (!faults.empty()) faults_ = std::make_unique<FaultInjector>(std::move(faults));
  if (channel_ != nullptr) channel_->Join(this);
  progress_thread_->Join(this);
}

CompletionQueue::~CompletionQueue() {
  if (IsForkedChild()) return;  // Another thread of the parent may have held any of the locks.
  progress_thread_->Leave(this);
  if (channel_ != nullptr) channel_->Leave(this);
  std::unique_lock lock(events_mu_);
  events_acknowledged_.wait(lock, [this] { return unacknowledged_events_ == 0; });
}

int CompletionQueue::Poll(int count, ibv_wc* completions) {
  CountPoll();
  if (size_.load(std::memory_order_relaxed) == 0 || TurnIsDue()) ProgressOnPoll();
  return Pop(count, completions, nullptr);
}

int CompletionQueue::PollTimed(ibv_wc* completion, uint64_t* time_ns) {
  *time_ns = 0;
  if (IsForkedChild()) return -ENODEV;  // This way in is not among those that InstallDeadDataPath closes.
  CountPoll();
  if (size_.load(std::memory_order_relaxed) == 0 || TurnIsDue()) ProgressOnPoll();
  return Pop(1, completion, time_ns);
}

int CompletionQueue::Pop(int count, ibv_wc* completions, uint64_t* times_ns) {
  uint32_t size = size_.load(std::memory_order_relaxed);
  if (size == 0) return 0;
  std::lock_guard lock(entries_mu_);
  size = size_.load(std::memory_order_relaxed);
  if (size == kOverrunAndEmpty) return -EIO;
  uint32_t taken = std::min(size, static_cast<uint32_t>(std::max(count, 0)));
  for (uint32_t i = 0; i < taken; ++i) {
    size_t slot = place_[head_++];
    completions[i] = entries_[slot];
    if (times_ns != nullptr && !times_ns_.empty()) times_ns[i] = times_ns_[slot];
  }
  size -= taken;
  if (size == 0) head_ = 0;  // The places in use stay few, and in the cache.
  size_.store(size == 0 && overrun_ ? kOverrunAndEmpty : size, std::memory_order_relaxed);
  return static_cast<int>(taken);
}

int CompletionQueue::Resize(uint32_t capacity) {
  std::lock_guard lock(entries_mu_);
  uint32_t size = size_.load(std::memory_order_relaxed);
  if (overrun_ || size > capacity) return EINVAL;
  const RingIndex place(capacity);
  std::vector<ibv_wc> entries(place.places());
  std::vector<uint64_t> times_ns(times_ns_.empty() ? 0 : place.places());
  for (uint32_t i = 0; i < size; ++i) {
    size_t slot = place_[head_ + i];
    entries[i] = entries_[slot];
    if (!times_ns.empty()) times_ns[i] = times_ns_[slot];
  }
  entries_ = std::move(entries);
  times_ns_ = std::move(times_ns);
  capacity_ = capacity;
  place_ = place;
  head_ = 0;
  cqe = static_cast<int>(capacity);
  return 0;
}

void CompletionQueue::EnableExtendedPoll(bool with_times, bool single_threaded) {
  std::lock_guard lock(entries_mu_);
  if (with_times) times_ns_.resize(place_.places());
  extended_poll_ = std::make_unique<ExtendedPoll>(this, single_threaded);
}

void CompletionQueue::Arm(bool solicited_only) {
  std::lock_guard lock(entries_mu_);
  polls_at_arming_.store(polls_.load(std::memory_order_relaxed), std::memory_order_relaxed);
  ArmedFor wish = solicited_only ? ArmedFor::kSolicited : ArmedFor::kAnything;
  armed_.Arm(std::max(wish, armed_.armed_for()));
  // A peer whose mark was lost insists, and this process' device thread looks at everybody then, if there is one.
  Look nobody = Look::kNobody;
  look_due_.compare_exchange_strong(nobody, progress_thread_->enabled() ? Look::kSome : Look::kEverybody);
}

bool CompletionQueue::Push(const ibv_wc& completion, bool solicited) {
  std::lock_guard lock(entries_mu_);
  uint32_t size = size_.load(std::memory_order_relaxed);
  if (overrun_) return false;
  if (size == capacity_ || FaultOverruns()) {
    overrun_ = true;
    if (size == 0) size_.store(kOverrunAndEmpty, std::memory_order_relaxed);
    async_events_->RaiseForCompletionQueue(IBV_EVENT_CQ_ERR, this);
    return false;
  }
  size_t slot = place_[head_ + size];
  entries_[slot] = completion;
  if (!times_ns_.empty()) times_ns_[slot] = DeviceClockNs();
  size_.store(size + 1, std::memory_order_relaxed);
  bool important = solicited || completion.status != IBV_WC_SUCCESS;
  bool wanted = armed_.armed_for() == ArmedFor::kAnything || (armed_.armed_for() == ArmedFor::kSolicited && important);
  if (wanted) {
    armed_.Disarm();
    if (channel_ != nullptr) channel_->Enqueue(this);
  }
  return true;
}

bool CompletionQueue::FaultOverruns() {
  if (faults_ == nullptr) return false;
  faults_->Count(FaultOperation::kCompletion);
  return faults_->Befalls(FaultKind::kOverrun);
}

void CompletionQueue::Attach(uint32_t queue_pair_index, ProgressTarget* target) {
  std::lock_guard lock(progress_mu_);
  if (targets_.size() <= queue_pair_index) targets_.resize(queue_pair_index + 1);
  if (targets_[queue_pair_index] == nullptr) attached_indices_.push_back(queue_pair_index);
  targets_[queue_pair_index] = target;
}

void CompletionQueue::Detach(uint32_t queue_pair_index) {
  std::lock_guard lock(progress_mu_);
  if (watched_.load() == queue_pair_index + 1) watched_.store(0);
  if (last_ready_ == queue_pair_index) ready_in_a_row_ = 0;
  targets_[queue_pair_index] = nullptr;
  std::erase(attached_indices_, queue_pair_index);
  wires_.Remove(queue_pair_index);
}

bool CompletionQueue::HasTargets() {
  std::lock_guard lock(progress_mu_);
  return !attached_indices_.empty();
}

int CompletionQueue::AddWire(uint32_t queue_pair_index, int descriptor) {
  std::lock_guard lock(progress_mu_);
  if (int error = wires_.Add(queue_pair_index, descriptor); error != 0) return error;
  return channel_ != nullptr ? channel_->AddWire(descriptor) : 0;
}

void CompletionQueue::MuteWire(int descriptor) {
  wires_.Mute(descriptor);
  if (channel_ != nullptr) channel_->MuteWire(descriptor);
}

void CompletionQueue::ProgressOnPoll() {
  bool looks = look_due_.load(std::memory_order_relaxed) != Look::kNobody;
  if (ready_.AnyReady() || wires_.any() || looks || LookIsDue()) return Progress();
  if (watched_.load(std::memory_order_relaxed) == 0) return;
  std::unique_lock lock(progress_mu_, std::try_to_lock);  // Whoever has it is looking.
  if (lock.owns_lock()) ProgressWatched();
}

// Who posts for each completion what is done at once finds the queue never empty, and would hear no peer.
bool CompletionQueue::TurnIsDue() const { return polls_.load(std::memory_order_relaxed) % kPollsBetweenTurns == 0; }

// In case a peer that shares the ready map has cleared bits.
bool CompletionQueue::LookIsDue() {
  return polls_.load(std::memory_order_relaxed) - polls_at_look_.load(std::memory_order_relaxed) >= kPollsBetweenLooks;
}

void CompletionQueue::Progress() {
  std::lock_guard lock(progress_mu_);
  ProgressWatched();
  ready_.Take([this](uint32_t index) {
    ProgressOne(index);
    ready_in_a_row_ = std::exchange(last_ready_, index) == index ? ready_in_a_row_ + 1 : 1;
    if (ready_in_a_row_ >= kReadyBeforeWatched) Watch(index);
  });
  if (wires_.any()) wires_.ForEachToLookAt([this](uint32_t index) { ProgressOne(index); });
  if (LookIsDue()) LookAtSome(kQueuePairsPerLook);
  if (look_due_.load() == Look::kNobody) return;  // A poll need not write what is seldom set.
  if (look_due_.exchange(Look::kNobody) == Look::kSome) return LookAtSome(kQueuePairsPerArming);
  for (uint32_t index : attached_indices_) LookAt(index);
}

void CompletionQueue::LookAtSome(size_t count) {
  polls_at_look_.store(polls_.load(std::memory_order_relaxed), std::memory_order_relaxed);
  for (size_t left = std::min(count, attached_indices_.size()); left > 0; --left) {
    next_look_ = (next_look_ + 1) % attached_indices_.size();
    LookAt(attached_indices_[next_look_]);
  }
}

void CompletionQueue::LookAt(uint32_t index) {
  if (targets_[index]->MayHaveNews()) targets_[index]->Progress();
}

void CompletionQueue::ProgressOne(uint32_t index) {
  if (index < targets_.size() && targets_[index] != nullptr) targets_[index]->Progress();
}

void CompletionQueue::ProgressWatched() {
  uint32_t watched = watched_.load(std::memory_order_relaxed);
  if (watched != 0 && targets_[watched - 1]->MayHaveNews()) targets_[watched - 1]->Progress();
}

void CompletionQueue::Watch(uint32_t index) {
  if (index >= targets_.size() || targets_[index] == nullptr) return;
  if (watched_.load(std::memory_order_relaxed) == index + 1) return;  // It was marked before its peer saw that.
  if (wires_.any() || !attended()) return;  // Every poll looks at the wires anyway; or there are no polls.
  Unwatch();
  watched_.store(index + 1);
}

void CompletionQueue::Unwatch() {
  uint32_t before = watched_.load(std::memory_order_relaxed);
  if (before == 0) return;
  watched_.store(0);
  ProgressOne(before - 1);  // Its peer may have relied on it.
}

void CompletionQueue::MarkReady(uint32_t queue_pair_index) {
  ready_.Set(queue_pair_index);
  std::lock_guard lock(entries_mu_);
  if (armed_.armed_for() == ArmedFor::kNothing && !armed_.unattended()) return;
  if (progress_thread_->enabled()) {
    progress_thread_->Wake();
  } else if (channel_ != nullptr) {
    channel_->Wake();
  }
}

void CompletionQueue::Attend() {
  SetUnattended(false);
  progress_thread_->Attend();
}

void CompletionQueue::SetUnattended(bool unattended) {
  std::lock_guard lock(entries_mu_);
  armed_.SetUnattended(unattended);
  unattended_.store(unattended);
}

uint32_t CompletionQueue::TakePolls() {
  const uint32_t all = polls_.load(std::memory_order_relaxed);
  const uint32_t polls = all - polls_at_tick_.exchange(all, std::memory_order_relaxed);
  if (polls > 0) return polls;
  SetUnattended(true);
  {
    std::lock_guard lock(progress_mu_);
    Unwatch();
  }
  Progress();  // What came before peers could see that.
  return 0;
}

bool CompletionQueue::Help(bool everybody) {
  {
    std::lock_guard lock(entries_mu_);
    if (armed_.unattended() || armed_.armed_for() != ArmedFor::kNothing) armed_.Renew();
  }
  bool found = ready_.AnyReady();
  if (everybody) look_due_.store(Look::kEverybody);
  Progress();
  return found;
}

void CompletionQueue::ProgressAfterWake() {
  {
    std::lock_guard lock(entries_mu_);
    if (armed_.armed_for() != ArmedFor::kNothing) armed_.Renew();
  }
  Progress();
}

void CompletionQueue::CountEventRead() {
  std::lock_guard lock(events_mu_);
  ++unacknowledged_events_;
}

void CompletionQueue::AcknowledgeEvents(uint32_t count) {
  std::lock_guard lock(events_mu_);
  unacknowledged_events_ -= std::min<uint64_t>(count, unacknowledged_events_);
  events_acknowledged_.notify_all();
}

}  // namespace verbena::soft
