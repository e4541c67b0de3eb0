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
  for (auto& [host, list] : asked_) {
    for (const Waiting& waiting : list) loop_.CancelTimer(waiting.timer);
  }
}

void HostLookups::LookUp(const std::string& host, absl::Duration timeout, Done done) {
  const auto [found, first] = asked_.try_emplace(host);
  WaitingList& list = found->second;
  const auto waiting = list.insert(list.end(), Waiting{std::move(done)});
  waiting->timer =
      loop_.AddTimer(loop_.ReadNow() + timeout, [this, host, waiting, timeout] { OnTime(host, waiting, timeout); });
  if (first) Ask(host);
}

void HostLookups::Ask(const std::string& host) {
  resolver_.Resolve(host, [this, host, handle = handle_](const absl::StatusOr<HostAddresses>& addresses) {
    LoopHandle::Task task = [this, host, addresses] { OnAnswer(host, addresses); };
    handle->Post(task);  // Or nobody waits any more.
  });
}

void HostLookups::OnAnswer(const std::string& host, const absl::StatusOr<HostAddresses>& addresses) {
  WaitingList list = std::move(asked_.extract(host).mapped());
  for (const Waiting& waiting : list) loop_.CancelTimer(waiting.timer);
  for (Waiting& waiting : list) waiting.done(addresses);
}

void HostLookups::OnTime(const std::string& host, WaitingList::iterator waiting, absl::Duration timeout) {
  Done done = std::move(waiting->done);
  asked_.at(host).erase(waiting);
  done(absl::DeadlineExceededError(
      absl::StrCat("host \"", host, "\" was not found within ", absl::FormatDuration(timeout))));
}

}  // namespace verbena::transport
