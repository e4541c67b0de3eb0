#include "transport/lost_devices.h"

#include <chrono>
#include <utility>

#include "transport/log.h"
#include "transport/start_thread.h"
#include "transport/verbs/device_list.h"

namespace verbena::transport {
namespace {

constexpr std::chrono::seconds kInterval{1};

}  // namespace

LostDevices& LostDevices::Get() {
  static LostDevices devices;  // Destroyed, and its thread joined, before librdmacm's own end.
  return devices;
}

LostDevices::~LostDevices() {
  std::thread ending;
  {
    const std::lock_guard lock(mu_);
    stopped_ = true;
    stopping_.notify_all();
    ending = std::move(thread_);
  }
  if (ending.joinable()) ending.join();
}

void LostDevices::Add(const verbs::VerbsApi& api) {
  const std::lock_guard lock(mu_);
  if (stopped_) return;  // The process ends.
  apis_.insert(&api);
  if (thread_.joinable()) return;
  absl::StatusOr<std::thread> thread = StartThread("letting go of removed devices", [this] { Run(); });
  if (!thread.ok()) return Log(Severity::kWarning, thread.status().message());
  thread_ = *std::move(thread);
}

void LostDevices::Run() {
  std::unique_lock lock(mu_);
  while (!stopped_) {
    const absl::flat_hash_set<const verbs::VerbsApi*> apis = apis_;
    lock.unlock();
    // What it says does not matter, an error neither: the last device may be gone.
    for (const verbs::VerbsApi* api : apis) verbs::CmDeviceList::Read(*api).IgnoreError();
    lock.lock();
    stopping_.wait_for(lock, kInterval, [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return stopped_; });
  }
}

}  // namespace verbena::transport
