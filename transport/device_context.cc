#include "transport/device_context.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "transport/log.h"

namespace verbena::transport {
namespace {

struct Registry {
  std::mutex mu;
  absl::flat_hash_map<ibv_context*, DeviceContext*> devices ABSL_GUARDED_BY(mu);
};

Registry& GetRegistry() {
  static Registry* const registry = new Registry;
  return *registry;
}

}  // namespace

absl::StatusOr<DeviceContext*> DeviceContext::For(const verbs::VerbsApi& api, ibv_context* context) {
  Registry& registry = GetRegistry();
  const std::lock_guard lock(registry.mu);
  const auto known = registry.devices.find(context);
  if (known != registry.devices.end()) return known->second;
  absl::StatusOr<verbs::Device> device = verbs::Device::Borrow(api, context);
  if (!device.ok()) return device.status();
  if (absl::Status status = device->MakeAsyncEventsNonBlocking(); !status.ok()) return status;
  absl::StatusOr<verbs::ProtectionDomain> domain = verbs::ProtectionDomain::Create(*device);
  if (!domain.ok()) return domain.status();
  auto* const made = new DeviceContext(*std::move(device), *std::move(domain));
  registry.devices.emplace(context, made);
  return made;
}

int DeviceContext::block_access() const {
  const bool iwarp = device_.context()->device->transport_type == IBV_TRANSPORT_IWARP;
  return IBV_ACCESS_LOCAL_WRITE | (iwarp ? IBV_ACCESS_REMOTE_WRITE : 0) | (has_windows_ ? IBV_ACCESS_MW_BIND : 0);
}

uint16_t DeviceContext::read_depth_max() const {
  const ibv_device_attr& attributes = device_.attributes();
  const int depth = std::min(attributes.max_qp_rd_atom, attributes.max_qp_init_rd_atom);
  return static_cast<uint16_t>(std::clamp(depth, 1, int{std::numeric_limits<uint8_t>::max()}));
}

void DeviceContext::DispatchAsyncEvents() {
  while (true) {
    const absl::StatusOr<std::optional<verbs::AsyncEvent>> event = device_.NextAsyncEvent();
    if (!event.ok() || !event->has_value()) return;
    const std::lock_guard lock(mu_);
    const auto handler = queue_pairs_.find((*event)->queue_pair_number);
    if (handler != queue_pairs_.end()) {
      handler->second(**event);
    } else if ((*event)->queue_pair_number == 0) {
      Log(Severity::kWarning, absl::StrCat(device_.name(), ": ", (*event)->ToString()));
    }
  }
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
