// One end of two linked queue pairs: the memory between them, and the means to reach the other end.
//
// Owner: the queue pair, from the moment it is linked until it is destroyed. Thread: the queue pair's lock.

#ifndef VERBENA_TRANSPORT_SOFT_PAIR_LINK_H_
#define VERBENA_TRANSPORT_SOFT_PAIR_LINK_H_

#include <memory>
#include <optional>
#include <utility>

#include "transport/soft/byte_ring.h"
#include "transport/soft/direct_memory.h"
#include "transport/soft/doorbell.h"
#include "transport/soft/shared_mapping.h"

namespace verbena::soft {

class PairLink {
 public:
  // What is known of the other end.
  struct Peer {
    uint32_t queue_pair_number;
    pid_t process;
    DirectMemory::Cookie cookie;
    std::shared_ptr<SharedMapping> published;
    Doorbell receiving;               // Of its receive completion queue.
    std::optional<Doorbell> sending;  // Of its send completion queue, if that is another one.
  };

  // `own_end` is 0 for the end that made the offer, 1 for the other.
  PairLink(std::shared_ptr<SharedMapping> memory, int own_end, Peer peer)
      : memory_(std::move(memory)),
        own_(memory_->pair().control.ends[own_end]),
        peer_(memory_->pair().control.ends[1 - own_end]),
        peer_queue_pair_number_(peer.queue_pair_number),
        receiving_(std::move(peer.receiving)),
        sending_(std::move(peer.sending)),
        writer_(memory_->pair().rings[own_end], &own_.producer, &peer_.consumer),
        reader_(memory_->pair().rings[1 - own_end], &own_.consumer, &peer_.producer),
        direct_(peer.process, peer.cookie, std::move(peer.published), &peer_.state, &own_.hazard) {}

  EndControl& own() { return own_; }
  const EndControl& peer() const { return peer_; }
  uint32_t peer_queue_pair_number() const { return peer_queue_pair_number_; }

  RingWriter& writer() { return writer_; }
  RingReader& reader() { return reader_; }
  DirectMemory& direct() { return direct_; }

  // Tells the end that receives from us, and the end that waits for our acceptance or space.
  void RingReceiver(bool urgent) {
    if (!std::exchange(lose_doorbell_, false)) receiving_.Ring(urgent);
  }
  void RingSender() { (sending_.has_value() ? *sending_ : receiving_).Ring(true); }

  // A fault on purpose: the receiver is not told the next time.
  void LoseNextDoorbell() { lose_doorbell_ = true; }

  // The peer broke the rules of shared memory; the queue pair must fail.
  bool broken() const { return broken_ || writer_.broken() || reader_.broken(); }
  void MarkBroken() { broken_ = true; }

  // Tells the peer that nothing will be accepted here any more.
  void Close() {
    own_.state.closed.store(1);
    RingReceiver(true);
    if (sending_.has_value()) RingSender();
  }

  bool peer_closed() const { return peer_.state.closed.load() != 0; }

  // A guess, from shared memory alone, whether the peer has published something that is not taken in yet.
  bool MayHaveNews() const {
    uint64_t watch = own_.producer.accept_watch.load(std::memory_order_relaxed);
    return peer_.producer.tail.load() != own_.consumer.head.load(std::memory_order_relaxed) ||
           (watch != 0 && peer_.consumer.accepted.load() >= watch) || peer_.consumer.refusal.load() != 0 ||
           own_.producer.wants_space.load(std::memory_order_relaxed) != 0 || peer_closed();
  }

  const std::shared_ptr<SharedMapping>& memory() const { return memory_; }

 private:
  const std::shared_ptr<SharedMapping> memory_;
  EndControl& own_;
  const EndControl& peer_;
  const uint32_t peer_queue_pair_number_;
  Doorbell receiving_;
  std::optional<Doorbell> sending_;
  RingWriter writer_;
  RingReader reader_;
  DirectMemory direct_;
  bool broken_ = false;
  bool lose_doorbell_ = false;
};

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_PAIR_LINK_H_
