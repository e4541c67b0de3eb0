// One end of two linked queue pairs: the memory between them, and the means to reach the other end.
//
// The other end may be a queue pair of a process on this host, or somebody who stands in for one far away. A link knows
// the difference only by what it was given: the doorbells, and whether the peer's memory can be copied directly.
//
// Owner: the queue pair, from the moment it is linked until it is destroyed. Thread: the queue pair's lock.

#ifndef VERBENA_TRANSPORT_SOFT_PAIR_LINK_H_
#define VERBENA_TRANSPORT_SOFT_PAIR_LINK_H_

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include "transport/soft/byte_ring.h"
#include "transport/soft/direct_memory.h"
#include "transport/soft/doorbell.h"
#include "transport/soft/shared_mapping.h"
#include "transport/soft/wire.h"

namespace verbena::soft {

class PairLink {
 public:
  // What is known of the other end.
  struct Peer {
    uint32_t queue_pair_number;
    std::unique_ptr<Doorbell> receiving;              // Of its receive completion queue.
    std::unique_ptr<Doorbell> sending;                // Of its send completion queue; null if that is the same.
    std::unique_ptr<Wire> wire;                       // Null if the peer sees the pair's memory itself.
    std::optional<DirectMemory::PeerProcess> direct;  // None: the peer executes our one-sided requests itself.
    // How soon it is to answer the READs that it is asked for while it polls though there is a direct way; none: it is
    // not asked. See read_asking.h.
    std::optional<std::chrono::nanoseconds> patience_with_reads;
    // Its process, if that was given our table of regions. None: it cannot copy, whatever its hazard word says.
    std::optional<pid_t> copying_process;
  };

  // `own_end` is 0 for the end that made the offer, 1 for the other.
  PairLink(std::shared_ptr<SharedMapping> memory, int own_end, Peer peer)
      : PairLink(std::move(memory), own_end, 1 - own_end, std::move(peer)) {}

  // A queue pair whose peer is itself: one end plays both.
  static std::unique_ptr<PairLink> ToItself(std::shared_ptr<SharedMapping> memory, Peer peer) {
    return std::unique_ptr<PairLink>(new PairLink(std::move(memory), 0, 0, std::move(peer)));
  }

  EndControl& own() { return own_; }
  const EndControl& peer() const { return peer_; }
  uint32_t peer_queue_pair_number() const { return peer_queue_pair_number_; }

  RingWriter& requests_out() { return requests_out_; }
  RingReader& requests_in() { return requests_in_; }
  RingWriter& responses_out() { return responses_out_; }
  RingReader& responses_in() { return responses_in_; }

  // None if the peer was not given the means to copy from and into our memory.
  std::optional<Copier> copier() const {
    if (!copying_process_.has_value()) return std::nullopt;
    return Copier{.process = *copying_process_, .hazard = &peer_.hazard};
  }

  // Null if the peer executes our one-sided requests.
  DirectMemory* direct() { return direct_.has_value() ? &*direct_ : nullptr; }
  bool asks_for_reads() const { return patience_with_reads_.has_value(); }
  std::chrono::nanoseconds patience_with_reads() const { return *patience_with_reads_; }  // Where it asks.
  // A fault on purpose: as if the kernel did not let us copy. Before the first request.
  void RefuseDirect() { direct_.reset(); }
  // The same for the room in the rings that we write, at most `bytes`.
  void NarrowRings(size_t bytes) {
    requests_out_.Narrow(bytes);
    responses_out_.Narrow(bytes);
  }

  // Tells the end that receives our requests, and the end that waits for what we answer or accept.
  void RingReceiver(News news) {
    if (!std::exchange(lose_doorbell_, false)) receiving_->Ring(news);
  }
  void RingSender(News news) { (sending_ != nullptr ? *sending_ : *receiving_).Ring(news); }
  // What acceptances and answers are to the sender: something to go on with if requests wait for them.
  News NewsOfAnswers() const { return peer_.requests_out.held_up.load() != 0 ? News::kImportant : News::kAnswer; }
  // Whoever receives our requests polls: it carries out what is asked of it without being woken.
  bool ReceiverIsPolled() const { return receiving_->IsPolled(); }
  // The receiver has shown no sign of life for a while.
  void Insist() { receiving_->Insist(); }

  // A fault on purpose: the receiver is not told the next time.
  void LoseNextDoorbell() { lose_doorbell_ = true; }

  // The peer broke the rules of shared memory; the queue pair must fail.
  bool broken() const {
    return broken_ || requests_out_.broken() || requests_in_.broken() || responses_out_.broken() ||
           responses_in_.broken();
  }
  void MarkBroken() { broken_ = true; }

  // Around every turn: what a wire has brought is taken in before, what the turn made is handed to it after. Nothing to
  // do within a host.
  void Pull(Wire::Reach reach) {
    if (wire_ != nullptr && !wire_->Pull(reach)) MarkBroken();
  }
  // False if something is left for later.
  bool Push(Wire::Haste haste) { return wire_ == nullptr || wire_->Push(haste); }
  const Wire* wire() const { return wire_.get(); }
  void SetPatience(std::chrono::microseconds patience) {
    if (wire_ != nullptr) wire_->SetPatience(patience);
  }

  // Tells the peer that nothing will be accepted here any more.
  void Close() {
    own_.state.closed.store(1);
    if (wire_ != nullptr) wire_->Close();
    RingReceiver(News::kImportant);
    if (sending_ != nullptr) RingSender(News::kImportant);
  }

  // The peer's process is gone, and cannot say that it is closed. Its process id may be given to another.
  void LosePeer() {
    lost_ = true;
    if (direct_.has_value()) direct_->Abandon();
  }

  bool peer_closed() const { return lost_ || peer_.state.closed.load() != 0; }
  // It will accept nothing after the request that it refused.
  bool peer_refused() const { return peer_.state.refusal.load() != 0; }

  // A guess, from shared memory alone, whether the peer has published something that is not taken in yet. That it has
  // closed is nothing to take in: see peer_patience.h.
  bool MayHaveNews() const {
    uint64_t watch = own_.requests_out.accept_watch.load(std::memory_order_relaxed);
    requests_in_.Prefetch();
    return peer_.requests_out.ring.tail.load() != own_.requests_in.ring.head.load(std::memory_order_relaxed) ||
           peer_.responses_out.ring.tail.load() != own_.responses_in.ring.head.load(std::memory_order_relaxed) ||
           (watch != 0 && peer_.requests_in.accepted.load() >= watch) || peer_refused() ||
           own_.requests_out.ring.wants_space.load(std::memory_order_relaxed) != 0 ||
           own_.responses_out.ring.wants_space.load(std::memory_order_relaxed) != 0;
  }

  const std::shared_ptr<SharedMapping>& memory() const { return memory_; }

 private:
  PairLink(std::shared_ptr<SharedMapping> memory, int own_end, int peer_end, Peer peer)
      : memory_(std::move(memory)),
        own_(memory_->pair().control.ends[own_end]),
        peer_(memory_->pair().control.ends[peer_end]),
        peer_queue_pair_number_(peer.queue_pair_number),
        copying_process_(peer.copying_process),
        patience_with_reads_(peer.patience_with_reads),
        receiving_(std::move(peer.receiving)),
        sending_(std::move(peer.sending)),
        wire_(std::move(peer.wire)),
        requests_out_(RequestsOf(own_end), &own_.requests_out.ring, &peer_.requests_in.ring),
        requests_in_(RequestsOf(peer_end), &own_.requests_in.ring, &peer_.requests_out.ring),
        responses_out_(ResponseRing(memory_->pair(), own_end), &own_.responses_out.ring, &peer_.responses_in.ring),
        responses_in_(ResponseRing(memory_->pair(), peer_end), &own_.responses_in.ring, &peer_.responses_out.ring) {
    if (wire_ != nullptr) requests_out_.NeverRestart();  // Positions are the same at both ends of a wire.
    if (peer.direct.has_value()) direct_.emplace(*std::move(peer.direct), &peer_.state, &own_.hazard);
  }

  // So are the ends of its rings.
  RingBytes RequestsOf(int end) {
    return wire_ != nullptr ? RingBytes{memory_->pair().request_ring(end)} : RequestRing(memory_->pair(), end);
  }

  const std::shared_ptr<SharedMapping> memory_;
  EndControl& own_;
  const EndControl& peer_;
  const uint32_t peer_queue_pair_number_;
  const std::optional<pid_t> copying_process_;
  const std::optional<std::chrono::nanoseconds> patience_with_reads_;
  const std::unique_ptr<Doorbell> receiving_;
  const std::unique_ptr<Doorbell> sending_;
  const std::unique_ptr<Wire> wire_;
  RingWriter requests_out_;
  RingReader requests_in_;
  RingWriter responses_out_;
  RingReader responses_in_;
  std::optional<DirectMemory> direct_;
  bool lost_ = false;
  bool broken_ = false;
  bool lose_doorbell_ = false;
};

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_PAIR_LINK_H_
