#include "transport/user_memory.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <iterator>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/btree_map.h"
#include "absl/strings/str_format.h"
#include "transport/device_context.h"

namespace verbena::transport {
namespace {

struct Registry {
  // memories.size(): spares the lock whoever sends while nothing is registered. Whoever was given registered memory was
  // given it after this counted it.
  std::atomic<size_t> listed = 0;
  std::mutex mu;
  std::condition_variable unlisted;
  // By first byte; no two have a byte in common. Who is listed is not destroyed meanwhile.
  absl::btree_map<const std::byte*, UserMemory*> memories ABSL_GUARDED_BY(mu);
};

// Never destroyed: a Cord may outlive everything else.
Registry& GetRegistry() {
  static Registry* const registry = new Registry;
  return *registry;
}

const std::byte* End(const UserMemory& memory) { return memory.bytes().data() + memory.bytes().size(); }

}  // namespace

absl::StatusOr<std::shared_ptr<UserMemory>> UserMemory::Register(absl::Span<std::byte> bytes,
                                                                 absl::AnyInvocable<void() &&> on_deregistered) {
  std::shared_ptr<UserMemory> memory(new UserMemory(bytes));
  if (absl::Status status = memory->List(); !status.ok()) return status;
  // At once where that is possible, so that whoever registers hears of what stands against it.
  for (const std::shared_ptr<DeviceContext>& device : DeviceContext::All()) {
    if (!device->has_windows()) continue;
    if (absl::Status status = memory->regions().In(*device).status(); !status.ok()) return status;
  }
  memory->on_deregistered_ = std::move(on_deregistered);
  return memory;
}

absl::Status UserMemory::List() {
  Registry& registry = GetRegistry();
  const std::lock_guard lock(registry.mu);
  const auto behind = registry.memories.lower_bound(End(*this));
  if (behind != registry.memories.begin()) {
    const UserMemory& before = *std::prev(behind)->second;
    if (End(before) > bytes().data()) {
      return absl::AlreadyExistsError(absl::StrFormat(
          "RegisterMemory: %d bytes at %p overlap %d bytes at %p that are registered already, or that a Cord still "
          "refers to",
          bytes().size(), bytes().data(), before.bytes().size(), before.bytes().data()));
    }
  }
  registry.memories.emplace(bytes().data(), this);
  registry.listed.store(registry.memories.size(), std::memory_order_relaxed);
  listed_ = true;
  return absl::OkStatus();
}

UserMemory::~UserMemory() {
  regions_.Clear();
  if (listed_) {
    Registry& registry = GetRegistry();
    const std::lock_guard lock(registry.mu);
    registry.memories.erase(bytes().data());
    registry.listed.store(registry.memories.size(), std::memory_order_relaxed);
    registry.unlisted.notify_all();
  }
  if (on_deregistered_ != nullptr) std::move(on_deregistered_)();
}

std::shared_ptr<UserMemory> UserMemory::Find(const void* address, size_t size) {
  const auto* const first = static_cast<const std::byte*>(address);
  Registry& registry = GetRegistry();
  if (registry.listed.load(std::memory_order_relaxed) == 0) return nullptr;
  const std::lock_guard lock(registry.mu);
  const auto behind = registry.memories.upper_bound(first);
  if (behind == registry.memories.begin()) return nullptr;
  UserMemory& memory = *std::prev(behind)->second;
  if (first >= End(memory) || size > static_cast<size_t>(End(memory) - first)) return nullptr;
  return memory.weak_from_this().lock();  // Null: it is being destroyed.
}

// To deregister takes long, and whoever sends needs the lock: so it is not held meanwhile.
void UserMemory::Deregister(const verbs::ProtectionDomain& domain) {
  std::vector<std::shared_ptr<UserMemory>> memories;  // Destroyed without the lock: the last of one may be here.
  Registry& registry = GetRegistry();
  {
    std::unique_lock lock(registry.mu);
    for (const auto& [first, memory] : registry.memories) {
      if (std::shared_ptr<UserMemory> shared = memory->weak_from_this().lock()) memories.push_back(std::move(shared));
    }
    // Those that are being destroyed end their registrations by themselves, on their threads.
    registry.unlisted.wait(lock, [&registry] {
      return std::none_of(registry.memories.begin(), registry.memories.end(),
                          [](const auto& listed) { return listed.second->weak_from_this().expired(); });
    });
  }
  for (const std::shared_ptr<UserMemory>& memory : memories) memory->regions_.Deregister(domain);
}

}  // namespace verbena::transport
