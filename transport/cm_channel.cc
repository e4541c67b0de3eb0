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

CmChannel::~CmChannel() { loop_->RemoveFd(channel_.fd(), this); }

// Whether a task is posted or not: a loop that runs within another task would wait for it.
void CmChannel::OnReadable(int) { HandleSome(); }

void CmChannel::HandleSome() {
  const absl::Time end = loop_->ReadNow() + kAtATimeMax;
  while (HandleNext()) {
    if (loop_->ReadNow() >= end) return ContinueSoon();
  }
}

void CmChannel::ContinueSoon() {
  if (std::exchange(continues_, true)) return;
  loop_->Post([this] {  // A loop's tasks go before its channels.
    continues_ = false;
    HandleSome();
  });
}

void CmChannel::HandleSoon(absl::AnyInvocable<void()> step) {
  steps_.push_back(std::move(step));
  ContinueSoon();
}

bool CmChannel::HandleNext() {
  if (!steps_.empty()) {
    absl::AnyInvocable<void()> step = std::move(steps_.front());
    steps_.pop_front();
    step();
    return true;
  }
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
