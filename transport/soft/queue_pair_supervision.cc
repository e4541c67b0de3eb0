// Queue pairs in the care of the progress thread.

#include "transport/soft/queue_pair.h"

namespace verbena::soft {

// Costs next to nothing if the thread knows already, as it does while requests follow each other.
void QueuePair::AskForSupervision() {
  if (supervised_ || !surroundings_.progress_thread->enabled()) return;
  supervised_ = true;
  surroundings_.progress_thread->Supervise(this);
}

std::optional<PeerPatience::Clock::time_point> QueuePair::Supervise(PeerPatience::Clock::time_point now) {
  constexpr std::chrono::milliseconds kSoon(1);
  std::unique_lock lock(mu_, std::try_to_lock);
  if (!lock.owns_lock()) return now + kSoon;  // Somebody is at work here.
  AdvanceBoth(Requester::Look::kAlways);
  PushWire();
  bool awaits_peer = state != IBV_QPS_ERR && requester_.awaits_peer();
  // A copy ends in anybody's turn while the port is up, and what is behind it awaits the peer then.
  bool copies = requester_.unfinished_copy() && surroundings_.health->port_is_up();
  bool is_busy = responder_.parked_for_a_time() || copies;
  supervised_ = awaits_peer || (state != IBV_QPS_ERR && is_busy);
  if (!awaits_peer) patience_.Rest();
  if (!supervised_) return std::nullopt;
  if (!awaits_peer) return now + kSoon;
  switch (patience_.Look(SignsOfPeer(), now)) {
    case PeerPatience::Verdict::kGiveUp:
      supervised_ = false;
      EnterError(IBV_WC_RETRY_EXC_ERR);
      return std::nullopt;
    case PeerPatience::Verdict::kProbe:
      ProbePeer();
      break;
    case PeerPatience::Verdict::kWait:
      break;
  }
  return responder_.parked_for_a_time() ? now + kSoon : patience_.next_look();
}

// A peer that has not arrived yet shows none, and is given up like one that has gone silent.
PeerPatience::Signs QueuePair::SignsOfPeer() {
  if (link_ == nullptr) return {};
  const EndControl& peer = link_->peer();
  // Sums of what only grows; a hostile peer that makes it stand still is given up, which is its own affair.
  return {.progress = peer.requests_in.accepted.load() + peer.requests_in.ring.head.load() +
                      peer.responses_out.ring.tail.load(),
          .answer = peer.requests_in.probe_answer.load(),
          .closed = link_->peer_closed()};
}

void QueuePair::ProbePeer() {
  if (link_ == nullptr) return;
  link_->own().requests_out.probe.store(++probes_);
  link_->Insist();
  PushWire();
}

}  // namespace verbena::soft
