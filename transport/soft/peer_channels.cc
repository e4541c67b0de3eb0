#include "transport/soft/peer_channels.h"

#include <map>
#include <mutex>
#include <utility>

namespace verbena::soft {
namespace {

struct Registry {
  std::mutex mu;
  std::map<std::pair<pid_t, uint64_t>, std::weak_ptr<WakeWriter>> channels;
};

Registry& TheRegistry() {
  static auto* registry = new Registry;
  return *registry;
}

}  // namespace

std::shared_ptr<WakeWriter> SharePeerChannel(pid_t process, uint64_t serial, WakeWriter writer) {
  if (process == 0) return std::make_shared<WakeWriter>(std::move(writer));
  Registry& registry = TheRegistry();
  std::lock_guard lock(registry.mu);
  std::erase_if(registry.channels, [](const auto& entry) { return entry.second.expired(); });
  std::weak_ptr<WakeWriter>& known = registry.channels[{process, serial}];
  std::shared_ptr<WakeWriter> channel = known.lock();
  if (channel == nullptr) {
    channel = std::make_shared<WakeWriter>(std::move(writer));
    known = channel;
  }
  return channel;
}

}  // namespace verbena::soft
