#include "transport/device_context.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "transport/log.h"
#include "transport/lost_devices.h"
#include "transport/payload_arena.h"
#include "transport/user_memory.h"
#include "transport/verbs/cm_event.h"

namespace verbena::transport {
namespace {

struct Registry {
  std::mutex mu;
  // Of devices that are there.
  absl::flat_hash_map<ibv_context*, std::shared_ptr<DeviceContext>> devices ABSL_GUARDED_BY(mu);
};

Registry& GetRegistry() {
  static Registry* const registry = new Registry;
  return *registry;
}

}  // namespace

absl::StatusOr<std::shared_ptr<DeviceContext>> DeviceContext::For(const verbs::ConnectionId& id) {
  Registry& registry = GetRegistry();
  const std::lock_guard lock(registry.mu);
  const auto known = registry.devices.find(id.device_context());
  if (known != registry.devices.end()) return known->second;
  absl::StatusOr<std::shared_ptr<DeviceContext>> made = Make(id);
  if (made.ok()) registry.devices.emplace(id.device_context(), *made);
  return made;
}

std::vector<std::shared_ptr<DeviceContext>> DeviceContext::All() {
  Registry& registry = GetRegistry();
  const std::lock_guard lock(registry.mu);
  std::vector<std::shared_ptr<DeviceContext>> all;
  for (const auto& [context, device] : registry.devices) all.push_back(device);
  return all;
}

absl::StatusOr<std::shared_ptr<DeviceContext>> DeviceContext::Make(const verbs::ConnectionId& id) {
  absl::StatusOr<verbs::Device> device = verbs::Device::Borrow(id.api(), id.device_context());
  if (!device.ok()) return device.status();
  absl::StatusOr<verbs::CmEventChannel> channel = verbs::CmEventChannel::Create(id.api());
  if (!channel.ok()) return channel.status();
  absl::StatusOr<verbs::ConnectionId> anchor = verbs::ConnectionId::Create(*channel);
  if (!anchor.ok()) return anchor.status();
  if (absl::Status status = anchor->BindBeside(id); !status.ok()) return status;
  if (anchor->device_context() != id.device_context()) {
    return absl::FailedPreconditionError(
        absl::StrCat("another RDMA device than ", device->name(), " has the address ", id.LocalAddress(), ", too"));
  }
  if (absl::Status status = device->MakeAsyncEventsNonBlocking(); !status.ok()) return status;
  absl::StatusOr<verbs::ProtectionDomain> domain = verbs::ProtectionDomain::Create(*device);
  if (!domain.ok()) return domain.status();
  return std::shared_ptr<DeviceContext>(
      new DeviceContext(*std::move(channel), *std::move(anchor), *std::move(device), *std::move(domain)));
}

DeviceContext::~DeviceContext() {
  PayloadArena::Get().Deregister(domain_);
  UserMemory::Deregister(domain_);
}

int DeviceContext::block_access() const {
  return IBV_ACCESS_LOCAL_WRITE | (device_.is_iwarp() ? IBV_ACCESS_REMOTE_WRITE : 0) |
         (has_windows_ ? IBV_ACCESS_MW_BIND : 0);
}

int DeviceContext::TakeCompletionVector() {
  const auto vectors = static_cast<uint32_t>(std::max(device_.completion_vectors(), 1));
  return static_cast<int>(completion_vectors_taken_.fetch_add(1, std::memory_order_relaxed) % vectors);
}

void DeviceContext::DispatchEvents() {
  const bool failed = DispatchAsyncEvents();
  if (ReadAnchorsEvents() || failed) OnRemoved();
}

bool DeviceContext::DispatchAsyncEvents() {
  bool failed = false;
  while (true) {
    const absl::StatusOr<std::optional<verbs::AsyncEvent>> event = device_.NextAsyncEvent();
    if (!event.ok() || !event->has_value()) return failed;
    failed |= (*event)->type == IBV_EVENT_DEVICE_FATAL;
    const std::lock_guard lock(mu_);
    const auto handler = queue_pairs_.find((*event)->queue_pair_number);
    if (handler != queue_pairs_.end()) {
      handler->second(**event);
    } else if ((*event)->type == IBV_EVENT_SRQ_LIMIT_REACHED) {
      for (const auto& [key, user] : users_) {
        if (user.on_receives_low) user.on_receives_low((*event)->shared_receive_queue);
      }
    } else if ((*event)->queue_pair_number == 0) {
      Log(Severity::kWarning, absl::StrCat(device_.name(), ": ", (*event)->ToString()));
    }
  }
}

bool DeviceContext::ReadAnchorsEvents() {
  bool removed = false;
  const std::lock_guard lock(mu_);  // One reader at a time.
  while (true) {
    const absl::StatusOr<std::optional<verbs::CmEvent>> event = channel_.NextEvent();
    if (!event.ok() || !event->has_value()) return removed;
    removed |= (*event)->type() == RDMA_CM_EVENT_DEVICE_REMOVAL;
  }
}

void DeviceContext::OnRemoved() {
  std::shared_ptr<DeviceContext> listed;  // The registry's; let go of under no lock.
  {
    Registry& registry = GetRegistry();
    const std::lock_guard lock(registry.mu);
    const auto known = registry.devices.find(device_.context());
    if (known == registry.devices.end() || known->second.get() != this) return;  // Told already.
    listed = std::move(known->second);
    registry.devices.erase(known);
  }
  Log(Severity::kWarning, RemovedError().message());
  {
    const std::lock_guard lock(mu_);
    removed_ = true;
    for (const auto& [key, user] : users_) user.on_removed();
  }
  LostDevices::Get().Add(device_.api());
}

absl::Status DeviceContext::RemovedError() const {
  return absl::UnavailableError(absl::StrCat("the device ", device_.name(), " was removed or has failed"));
}

absl::Status DeviceContext::AddUser(const void* key, User user) {
  const std::lock_guard lock(mu_);
  if (removed_) return RemovedError();
  users_[key] = std::move(user);
  return absl::OkStatus();
}

void DeviceContext::RemoveUser(const void* key) {
  const std::lock_guard lock(mu_);
  users_.erase(key);
}

void DeviceContext::AddQueuePair(uint32_t number, QueuePairHandler handler) {
  const std::lock_guard lock(mu_);
  queue_pairs_[number] = std::move(handler);
}

void DeviceContext::RemoveQueuePair(uint32_t number) {
  const std::lock_guard lock(mu_);
  queue_pairs_.erase(number);
}

}  // namespace verbena::transport
