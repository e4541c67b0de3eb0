// Memory windows of one protection domain that nobody uses, kept for the next export: allocating one costs a call into
// the kernel, binding it a work request.
//
// Owner: a poll group. Thread: its loop's.

#ifndef VERBENA_TRANSPORT_WINDOW_POOL_H_
#define VERBENA_TRANSPORT_WINDOW_POOL_H_

#include <cstddef>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "transport/verbs/memory_window.h"
#include "transport/verbs/protection_domain.h"

namespace verbena::transport {

class WindowPool {
 public:
  explicit WindowPool(const verbs::ProtectionDomain& domain) : domain_(domain) {}

  // One that is not bound. Fails when the device has no more.
  absl::StatusOr<verbs::MemoryWindow> Take() {
    if (free_.empty()) return verbs::MemoryWindow::Allocate(domain_);
    verbs::MemoryWindow window = std::move(free_.back());
    free_.pop_back();
    return window;
  }

  // `window` is not bound any more, and nothing that it was bound by is in flight.
  void Give(verbs::MemoryWindow window) {
    if (free_.size() < kKeptMax) free_.push_back(std::move(window));
  }

 private:
  // Kept for the next export; more are given back to the device.
  static constexpr size_t kKeptMax = 1024;

  const verbs::ProtectionDomain& domain_;
  std::vector<verbs::MemoryWindow> free_;
};

}  // namespace verbena::transport

#endif  // VERBENA_TRANSPORT_WINDOW_POOL_H_
