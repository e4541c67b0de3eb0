// QueuePair: what a wire needs beside the turns themselves.

#include <utility>

#include "transport/soft/queue_pair.h"

namespace verbena::soft {

uint32_t QueuePair::ServeWire() {
  std::lock_guard lock(mu_);
  AdvanceBoth(Requester::Look::kAlways);
  if (link_ == nullptr || link_->wire() == nullptr) return 0;
  link_->Push(Wire::Haste::kAll);
  return link_->wire()->awaited_events();
}

void QueuePair::PushWire() {
  if (link_ == nullptr || link_->wire() == nullptr) return;
  if (!link_->Push(Wire::Haste::kPolite)) receive_completions().LookAgainAtWire(index());
  if (link_->wire()->awaited_events() == 0) MuteWire();
}

void QueuePair::MuteWire() {
  if (std::exchange(wire_muted_, true)) return;
  receive_completions().MuteWire(link_->wire()->descriptor());
  if (&send_completions() != &receive_completions()) send_completions().MuteWire(link_->wire()->descriptor());
}

absl::Status QueuePair::AddWire(const Wire& wire) {
  int error = receive_completions().AddWire(index(), wire.descriptor());
  if (error == 0 && &send_completions() != &receive_completions()) {
    error = send_completions().AddWire(index(), wire.descriptor());
  }
  return error == 0 ? absl::OkStatus() : absl::ErrnoToStatus(error, "epoll_ctl");
}

}  // namespace verbena::soft
