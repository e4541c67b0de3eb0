#include "transport/soft/soft_device.h"

#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <random>
#include <utility>

#include "transport/soft/control_io/forked_child.h"
#include "transport/soft/data_path.h"
#include "transport/soft/device.h"
#include "transport/soft/errno_status.h"
#include "transport/soft/extended_calls.h"
#include "transport/soft/heap/shared_heap.h"
#include "transport/soft/process_faults.h"

namespace verbena::soft {
namespace {

constexpr int kCompletionVectors = 4;  // Nothing interrupts, so all are the same; programs that spread over them can.

std::atomic<void (*)()> fatal_listener{nullptr};  // See OnDeviceFatal.

uint64_t RandomNumber() {
  std::random_device source;
  return static_cast<uint64_t>(source()) << 32 | source();
}

// The lowest free place at or after `start`, in turn; the vector's size if there is none.
template <typename Place>
size_t FindFree(const std::vector<Place>& table, size_t start) {
  for (size_t i = 0; i < table.size(); ++i) {
    size_t index = (start + i) % table.size();
    if (!table[index]) return index;
  }
  return table.size();
}

}  // namespace

SoftDevice* SoftDevice::Get() {
  static std::mutex mu;
  static std::atomic<SoftDevice*> made{nullptr};
  if (SoftDevice* device = made.load(std::memory_order_acquire); device != nullptr) return device;
  std::lock_guard lock(mu);
  SoftDevice* device = made.load(std::memory_order_relaxed);
  if (device == nullptr) {
    const Profile* profile = ProfileOfEnvironment();
    if (profile == nullptr || !TakeFaultsOfEnvironment()) {
      errno = EINVAL;
      return nullptr;
    }
    absl::StatusOr<SoftDevice*> created = Create(*profile);
    if (!created.ok()) {
      errno = RememberedErrno(created.status()).value_or(ENOMEM);
      return nullptr;
    }
    device = *created;
    made.store(device, std::memory_order_release);
    RecognizeForkedChildren();
    pthread_atfork(nullptr, nullptr, [] {
      SharedMapping::SeverAll();
      InstallDeadDataPath(&Existing().context()->ops);
    });
    device->out_of_band_.SurviveForks();
  }
  return device;
}

absl::StatusOr<SoftDevice*> SoftDevice::Create(const Profile& profile) {
  auto queues = SharedMapping::Create(SharedMapping::Kind::kQueues);
  if (!queues.ok()) return queues.status();
  auto published = SharedMapping::Create(SharedMapping::Kind::kRegions);
  if (!published.ok()) return published.status();
  UniqueFd async_fd(eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE));
  std::optional<WakePipe> progress_pipe = WakePipe::Create();
  UniqueFd watched_fd(epoll_create1(EPOLL_CLOEXEC));
  if (!async_fd.valid() || !progress_pipe.has_value() || !watched_fd.valid())
    return StatusOfErrno(errno, "descriptors");
  ProcessSlot slot;
  if (int error = TakeProcessSlot(&slot); error != 0) return StatusOfErrno(error, "process slot");
  return new SoftDevice(profile, {.queues = *std::move(queues),
                                  .published = *std::move(published),
                                  .async_fd = std::move(async_fd),
                                  .progress_pipe = *std::move(progress_pipe),
                                  .watched_fd = std::move(watched_fd),
                                  .slot = std::move(slot)});
}

SoftDevice::SoftDevice(const Profile& profile, Resources resources)
    : profile_(profile),
      queues_(std::move(resources.queues)),
      published_(std::move(resources.published)),
      progress_thread_(std::move(resources.progress_pipe), std::move(resources.watched_fd)),
      async_events_(std::move(resources.async_fd)),
      guid_(RandomNumber()),
      cookie_(RandomNumber()),
      keys_(&published_->own_published(), static_cast<uint32_t>(RandomNumber())),
      out_of_band_(std::move(resources.slot)),
      progress_serial_(RandomNumber() | 1),
      next_channel_serial_(progress_serial_ + 1),
      completion_queues_(kCompletionQueuesMax),
      queue_pairs_(kQueuePairsMax),
      queue_pair_indices_taken_(kQueuePairsMax),
      next_queue_pair_(static_cast<uint32_t>(RandomNumber() % kQueuePairsMax)) {
  device_.node_type = profile.iwarp ? IBV_NODE_RNIC : IBV_NODE_CA;
  device_.transport_type = profile.iwarp ? IBV_TRANSPORT_IWARP : IBV_TRANSPORT_IB;
  std::strncpy(device_.name, kDeviceName, sizeof(device_.name) - 1);
  context()->device = &device_;
  context()->cmd_fd = -1;
  context()->async_fd = async_events_.fd();
  context()->num_comp_vectors = kCompletionVectors;
  SharedHeap::OfProcess().Publish(&published_->own_published().heap);
  InstallDataPath(&context()->ops);
  InstallExtendedCalls(profile, &context_);
}

CompletionQueue* SoftDevice::NewCompletionQueue(uint32_t capacity, void* user_context, CompletionChannel* channel) {
  absl::StatusOr<std::shared_ptr<SharedMapping>> ready = SharedMapping::Create(SharedMapping::Kind::kReady);
  std::lock_guard lock(mu_);
  size_t index = FindFree(completion_queues_, 0);
  if (!ready.ok() || index == completion_queues_.size()) {
    errno = RememberedErrno(ready.status()).value_or(ENOMEM);
    return nullptr;
  }
  completion_queues_[index] = new CompletionQueue(
      context(), static_cast<uint32_t>(index), capacity, user_context, channel, ReadyMap(*std::move(ready)),
      &queues_->own_queues().queues[index], &async_events_, &progress_thread_);
  return completion_queues_[index];
}

void SoftDevice::DeleteCompletionQueue(CompletionQueue* queue) {
  uint32_t index = queue->index();
  delete queue;  // May wait for acknowledgements: without the lock.
  std::lock_guard lock(mu_);
  completion_queues_[index] = nullptr;
}

SharedReceiveQueue* SoftDevice::NewSharedReceiveQueue(ibv_pd* domain, const ibv_srq_init_attr& attributes) {
  auto queue = std::make_unique<SharedReceiveQueue>(domain, attributes, &async_events_);
  if (shared_receive_queues_.fetch_add(1) < profile_.shared_queues_max) return queue.release();
  shared_receive_queues_.fetch_sub(1);
  return nullptr;
}

void SoftDevice::DeleteSharedReceiveQueue(SharedReceiveQueue* queue) {
  delete queue;
  shared_receive_queues_.fetch_sub(1);
}

QueuePair* SoftDevice::NewQueuePair(ibv_pd* domain, const ibv_qp_init_attr& attributes) {
  std::lock_guard lock(mu_);
  size_t index = FindFree(queue_pair_indices_taken_, next_queue_pair_);
  if (index == queue_pairs_.size()) return nullptr;
  next_queue_pair_ = static_cast<uint32_t>((index + 1) % kQueuePairsMax);
  QueuePair::Surroundings surroundings = {
      .index = static_cast<uint32_t>(index),
      .number = out_of_band_.NumberOf(static_cast<uint32_t>(index)),
      .own_memory = &published_->published(),
      .keys = &keys_,
      .async_events = &async_events_,
      .health = &health_,
      .profile = &profile_,
      .progress_thread = &progress_thread_,
  };
  queue_pairs_[index] = new QueuePair(domain, attributes, surroundings);
  queue_pair_indices_taken_[index] = true;
  return queue_pairs_[index];
}

void SoftDevice::DeleteQueuePair(QueuePair* queue_pair) {
  uint32_t index = queue_pair->index();
  queue_pair->Withdraw();  // A deregistration visits it until its peer copies no more.
  {
    std::lock_guard lock(mu_);
    queue_pairs_[index] = nullptr;
  }
  delete queue_pair;  // May wait for acknowledgements: without the lock.
  std::lock_guard lock(mu_);
  queue_pair_indices_taken_[index] = false;
}

void SoftDevice::SetPort(bool up) {
  if (!health_.SetPort(up)) return;
  async_events_.RaiseForPort(up ? IBV_EVENT_PORT_ACTIVE : IBV_EVENT_PORT_ERR, 1);
  if (!up) return;
  std::lock_guard lock(mu_);
  for (QueuePair* queue_pair : queue_pairs_) {
    if (queue_pair != nullptr) queue_pair->AskForProgress();
  }
}

bool SoftDevice::Fail() {
  if (!health_.Fail()) return false;
  async_events_.RaiseForDevice(IBV_EVENT_DEVICE_FATAL);
  std::lock_guard lock(mu_);
  for (QueuePair* queue_pair : queue_pairs_) {
    if (queue_pair != nullptr) queue_pair->Abort();
  }
  return true;
}

void RaisePortEvent(bool active) { SoftDevice::Existing().SetPort(active); }

void RaiseDeviceFatal() {
  if (!SoftDevice::Existing().Fail()) return;
  if (auto* listener = fatal_listener.load(); listener != nullptr) listener();
}

void OnDeviceFatal(void (*listener)()) { fatal_listener.store(listener); }

int SoftDevice::RevokeKey(uint32_t key) {
  std::optional<uint32_t> in_use = keys_.Revoke(key);
  if (!in_use.has_value()) return EBUSY;
  if (*in_use != 0) {
    auto deadline = std::chrono::steady_clock::now() + kHazardPatience;  // Of all peers together.
    for (const LinkToWatch& each : AllLinks()) {
      if (!AwaitEndOfCopies(each.peer.copier, *in_use, deadline)) FailSlowPeer(each);
    }
  }
  keys_.Release(key);
  return 0;
}

std::vector<SoftDevice::LinkToWatch> SoftDevice::AllLinks() {
  std::vector<LinkToWatch> links;
  std::lock_guard lock(mu_);
  for (QueuePair* queue_pair : queue_pairs_) {
    if (queue_pair == nullptr) continue;
    std::optional<QueuePair::CopyingPeer> peer = queue_pair->copying_peer();
    if (peer.has_value()) links.push_back({queue_pair, *std::move(peer)});
  }
  return links;
}

void SoftDevice::FailSlowPeer(const LinkToWatch& slow) {
  std::lock_guard lock(mu_);
  for (QueuePair* queue_pair : queue_pairs_) {
    if (queue_pair == slow.queue_pair) queue_pair->PeerCopiesForEver(slow.peer);
  }
}

}  // namespace verbena::soft
