#include "transport/soft/link.h"

#include <unistd.h>

#include <memory>
#include <utility>

#include "transport/soft/link_offer.h"
#include "transport/soft/queue_pair.h"

namespace verbena::soft {
namespace {

QueuePair& QueuePairOf(ibv_qp* raw) { return *static_cast<QueuePair*>(raw); }

// Whoever may be linked may be read by process_vm_readv: only processes of this user.
absl::Status CheckPeer(const ucred& peer) {
  if (peer.uid == geteuid()) return absl::OkStatus();
  return absl::PermissionDeniedError("the peer process belongs to another user");
}

}  // namespace

absl::StatusOr<LinkOffer> MakeOffer(ibv_qp* qp, const LinkParameters& parameters) {
  QueuePair& queue_pair = QueuePairOf(qp);
  absl::StatusOr<std::shared_ptr<SharedMapping>> pair = SharedMapping::Create(SharedMapping::Kind::kPair);
  if (!pair.ok()) return pair.status();
  absl::StatusOr<LinkOffer> offer = WriteOffer(queue_pair, **pair, 0, parameters);
  if (!offer.ok()) return offer.status();  // The queue pair can make another when there are descriptors again.
  (*pair)->CloseFd();
  if (absl::Status status = queue_pair.BeginLink(*pair, 0, parameters); !status.ok()) return status;
  return offer;
}

void AbandonOffer(ibv_qp* qp) { QueuePairOf(qp).AbandonLink(); }

absl::StatusOr<LinkOffer> AcceptOffer(ibv_qp* qp, LinkOffer peer_offer, const ucred& peer,
                                      const LinkParameters& parameters) {
  if (absl::Status status = CheckPeer(peer); !status.ok()) return status;
  QueuePair& queue_pair = QueuePairOf(qp);
  absl::StatusOr<ReceivedOffer> received = ReadOffer(std::move(peer_offer), 0, peer);
  if (!received.ok()) return received.status();
  absl::StatusOr<LinkOffer> answer = WriteOffer(queue_pair, *received->pair, 1, parameters);
  if (!answer.ok()) return answer.status();
  if (absl::Status status = queue_pair.BeginLink(received->pair, 1, parameters); !status.ok()) return status;
  auto link = std::make_unique<PairLink>(received->pair, 1, std::move(received->peer));
  if (absl::Status status = queue_pair.CompleteLink(std::move(link), received->parameters); !status.ok()) {
    return status;
  }
  return answer;
}

absl::Status CompleteOffer(ibv_qp* qp, LinkOffer peer_answer, const ucred& peer) {
  if (absl::Status status = CheckPeer(peer); !status.ok()) return status;
  QueuePair& queue_pair = QueuePairOf(qp);
  absl::StatusOr<ReceivedOffer> received = ReadOffer(std::move(peer_answer), 1, peer);
  if (!received.ok()) return received.status();
  absl::StatusOr<QueuePair::PendingLink> pending = queue_pair.pending_link();
  if (!pending.ok()) return pending.status();
  auto link = std::make_unique<PairLink>(pending->memory, pending->own_end, std::move(received->peer));
  return queue_pair.CompleteLink(std::move(link), received->parameters);
}

absl::Status LinkWithItself(ibv_qp* qp, const LinkParameters& parameters) {
  absl::StatusOr<LinkOffer> offer = MakeOffer(qp, parameters);
  if (!offer.ok()) return offer.status();
  absl::StatusOr<ReceivedOffer> own =
      ReadOffer(*std::move(offer), 0, {.pid = getpid(), .uid = geteuid(), .gid = getegid()});
  if (!own.ok()) return own.status();
  return QueuePairOf(qp).CompleteLink(PairLink::ToItself(own->pair, std::move(own->peer)), parameters);
}

void OnPeerGone(ibv_qp* qp) { QueuePairOf(qp).PeerGone(); }

}  // namespace verbena::soft
