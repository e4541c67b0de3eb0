#include "transport/host_resolver.h"

#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "transport/start_thread.h"

namespace verbena::transport {

HostResolver& HostResolver::OfProcess() {
  static HostResolver* const resolver = new HostResolver(&LookUpHost);
  return *resolver;
}

HostResolver::~HostResolver() {
  std::unique_lock lock(mutex_);
  no_threads_.wait(lock, [this] { return threads_ == 0; });
}

void HostResolver::Resolve(const std::string& host, Answer answer) {
  absl::Status failure;
  std::vector<Answer> unanswered;
  {
    const std::lock_guard lock(mutex_);
    std::vector<Answer>& asked = asked_[host];
    asked.push_back(std::move(answer));
    if (asked.size() > 1) return;
    failure = Queue(host);
    if (failure.ok()) return;
    unanswered = TakeAsked(host);
  }
  for (Answer& each : unanswered) each(failure);
}

absl::Status HostResolver::Queue(const std::string& host) {
  if (asked_.size() > kNamesMax) {
    return absl::ResourceExhaustedError(absl::StrCat(kNamesMax, " hosts are being looked up"));
  }
  if (threads_ < kThreadsMax) {
    absl::StatusOr<std::thread> thread = StartThread("the look-up of a host", [this] { Run(); });
    if (thread.ok()) {
      ++threads_;
      thread->detach();
    } else if (threads_ == 0) {  // Else one of those will.
      return thread.status();
    }
  }
  queued_.push_back(host);
  return absl::OkStatus();
}

void HostResolver::Run() {
  std::unique_lock lock(mutex_);
  while (!queued_.empty()) {
    const std::string host = std::move(queued_.front());
    queued_.pop_front();
    lock.unlock();
    const absl::StatusOr<HostAddresses> addresses = look_up_(host);
    lock.lock();
    std::vector<Answer> answers = TakeAsked(host);
    lock.unlock();
    for (Answer& answer : answers) answer(addresses);
    answers.clear();  // Not under the lock: they may ask again.
    lock.lock();
  }
  if (--threads_ == 0) no_threads_.notify_all();  // Under the lock: the resolver may be gone right after it.
}

std::vector<HostResolver::Answer> HostResolver::TakeAsked(const std::string& host) {
  return std::move(asked_.extract(host).mapped());
}

}  // namespace verbena::transport
