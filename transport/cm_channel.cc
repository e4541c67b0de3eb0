#include "transport/cm_channel.h"

#include <memory>
#include <optional>
#include <utility>

#include "transport/log.h"

namespace verbena::transport {

absl::StatusOr<CmChannel*> CmChannel::For(EventLoop* loop, const verbs::VerbsApi& api) {
  std::shared_ptr<void>& local = loop->Local(&api);
  if (local == nullptr) {
    absl::StatusOr<verbs::CmEventChannel> channel = verbs::CmEventChannel::Create(api);
    if (!channel.ok()) return channel.status();
    std::shared_ptr<CmChannel> made(new CmChannel(loop, *std::move(channel)));
    if (absl::Status added = loop->AddFd(made->channel_.fd(), made.get()); !added.ok()) return added;
    local = std::move(made);
  }
  return static_cast<CmChannel*>(local.get());
}

CmChannel::~CmChannel() {
  LeavePolling();
  loop_->RemoveFd(channel_.fd(), this);
}

void CmChannel::JoinPolling() {
  if (!std::exchange(polled_, true)) loop_->AddSource(this);
}

void CmChannel::LeavePolling() {
  if (std::exchange(polled_, false)) loop_->RemoveSource(this);
}

// Also in a loop that runs within an event or a step.
int CmChannel::Poll() {
  const absl::Time end = loop_->ReadNow() + kTurnMax;
  int handled = 0;
  while (true) {
    const bool stepped = RunStep();
    if (!HandleEvent() && !stepped) break;
    ++handled;
    behind_ = loop_->ReadNow() >= end;
    if (behind_) {
      JoinPolling();  // A loop within may have come to the end of what there was.
      return handled;
    }
  }
  behind_ = false;
  LeavePolling();
  return handled;
}

void CmChannel::HandleSoon(absl::AnyInvocable<void()> step) {
  steps_.push_back(std::move(step));
  JoinPolling();
}

bool CmChannel::RunStep() {
  if (steps_.empty()) return false;
  absl::AnyInvocable<void()> step = std::move(steps_.front());
  steps_.pop_front();
  step();
  return true;
}

bool CmChannel::HandleEvent() {
  absl::StatusOr<std::optional<verbs::CmEvent>> event = channel_.NextEvent();
  if (!event.ok()) {
    Log(Severity::kError, event.status().message());
    return false;
  }
  if (!event->has_value()) return false;
  const auto handler = handlers_.find((*event)->id());
  if (handler != handlers_.end()) handler->second->OnCmEvent(**event);
  return true;
}

}  // namespace verbena::transport
