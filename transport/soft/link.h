// What the connection manager and the queue pair engine of the software device must know of each other: the connecting
// of two queue pairs.
//
// The engine knows how to share memory; the connection manager knows how to carry bytes and file descriptors to another
// process and who that process is. A LinkOffer is opaque to the connection manager: the active side's goes in the
// connect request, the passive side's answer in the reply.
//
//   active:   offer = MakeOffer(qp)                        -> REQ ->
//   passive:  answer = AcceptOffer(qp, offer, peer)        <- REP <-   its queue pair is RTS
//   active:   CompleteOffer(qp, answer, peer)                          its queue pair is RTS
//   either:   OnPeerGone(qp)                                           when the control socket reports its end
//
// OnPeerGone: the peer disconnected or died.
//
// Threads: any; one call at a time for one queue pair.

#ifndef VERBENA_TRANSPORT_SOFT_LINK_H_
#define VERBENA_TRANSPORT_SOFT_LINK_H_

#include <infiniband/verbs.h>
#include <sys/socket.h>

#include <cstddef>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "transport/soft/unique_fd.h"

namespace verbena::soft {

// At most this many descriptors and bytes travel in one offer; the connection manager's messages are sized for it.
inline constexpr size_t kLinkOfferFdsMax = 8;
inline constexpr size_t kLinkOfferBytesMax = 512;

struct LinkOffer {
  std::vector<std::byte> bytes;  // Engine's own structure; validated by the engine on receipt, never trusted.
  std::vector<UniqueFd> fds;
};

// Connection parameters negotiated by the connection manager (rdma_conn_param), applied when the queue pair reaches
// RTS.
struct LinkParameters {
  uint8_t responder_resources = 1;  // READs the peer may have outstanding at us.
  uint8_t initiator_depth = 1;      // READs we may have outstanding at the peer.
  uint8_t retry_count = 7;
  uint8_t rnr_retry_count = 7;  // 7 = for ever, as in InfiniBand.
  // As ibv_qp_attr::timeout. By default what the Linux connection manager arrives at for Ethernet (packet life time 18,
  // plus one): with seven retries a peer that gives no sign of life is given up after 17 s.
  uint8_t timeout = 19;
};

absl::StatusOr<LinkOffer> MakeOffer(ibv_qp* qp, const LinkParameters& parameters);
// The offer does not get to the peer: the queue pair may make another.
void AbandonOffer(ibv_qp* qp);
absl::StatusOr<LinkOffer> AcceptOffer(ibv_qp* qp, LinkOffer peer_offer, const ucred& peer,
                                      const LinkParameters& parameters);
absl::Status CompleteOffer(ibv_qp* qp, LinkOffer peer_answer, const ucred& peer);

// For a queue pair that is its own peer.
absl::Status LinkWithItself(ibv_qp* qp, const LinkParameters& parameters);

// The peer's process or queue pair is gone. Work already received is completed first, then the queue pair goes to ERR
// and flushes.
void OnPeerGone(ibv_qp* qp);

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_LINK_H_
