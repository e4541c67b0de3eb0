#include "transport/host_lookups.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace verbena::transport {

HostLookups& HostLookups::Of(EventLoop* loop) {
  static const char key = 0;
  std::shared_ptr<void>& local = loop->Local(&key);
  if (local == nullptr) local = std::make_shared<HostLookups>(loop, &HostResolver::OfProcess());
  return *static_cast<HostLookups*>(local.get());
}

HostLookups::HostLookups(EventLoop* loop, HostResolver* resolver)
    : loop_(*loop), resolver_(*resolver), handle_(std::make_shared<LoopHandle>(loop)) {}

HostLookups::~HostLookups() {
  handle_->Detach();
  for (auto& [host, all] : asked_) {
    for (const auto& waiting : all) loop_.CancelTimer(waiting->timer);
  }
}

void HostLookups::LookUp(const std::string& host, absl::Duration timeout, Done done) {
  auto waiting = std::make_shared<Waiting>(Waiting{std::move(done), timeout});
  waiting->timer = loop_.AddTimer(loop_.ReadNow() + timeout,
                                  [this, host, weak = std::weak_ptr(waiting)] { OnTime(host, weak.lock()); });
  const auto [found, first] = asked_.try_emplace(host);
  found->second.push_back(std::move(waiting));
  if (first) Ask(host);
}

void HostLookups::Ask(const std::string& host) {
  resolver_.Resolve(host, [this, host, handle = handle_](const absl::StatusOr<HostAddresses>& addresses) {
    LoopHandle::Task task = [this, host, addresses] { OnAnswer(host, addresses); };
    handle->Post(task);  // Or nobody waits any more.
  });
}

void HostLookups::OnAnswer(const std::string& host, const absl::StatusOr<HostAddresses>& addresses) {
  const std::vector<std::shared_ptr<Waiting>> all = std::move(asked_.extract(host).mapped());
  for (const auto& waiting : all) loop_.CancelTimer(waiting->timer);
  for (const auto& waiting : all) waiting->done(addresses);
}

void HostLookups::OnTime(const std::string& host, const std::shared_ptr<Waiting>& waiting) {
  waiting->timer = 0;
  loop_.Post([this, host, weak = std::weak_ptr(waiting)] {
    if (const auto still = weak.lock(); still != nullptr) GiveUp(host, still);
  });
}

void HostLookups::GiveUp(const std::string& host, const std::shared_ptr<Waiting>& waiting) {
  std::erase(asked_.at(host), waiting);
  waiting->done(absl::DeadlineExceededError(
      absl::StrCat("the look-up of host \"", host, "\" took longer than ", absl::FormatDuration(waiting->timeout))));
}

}  // namespace verbena::transport
