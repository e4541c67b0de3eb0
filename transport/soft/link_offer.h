// The bytes and descriptors of a LinkOffer: what one end tells the other about itself.
//
// Both ends of a link run the same build on one host, so the bytes are a structure as it stands in memory, with a
// version that changes whenever it or shared_layout.h does.

#ifndef VERBENA_TRANSPORT_SOFT_LINK_OFFER_H_
#define VERBENA_TRANSPORT_SOFT_LINK_OFFER_H_

#include <memory>

#include "absl/status/statusor.h"
#include "transport/soft/link.h"
#include "transport/soft/pair_link.h"
#include "transport/soft/queue_pair.h"
#include "transport/soft/shared_mapping.h"

namespace verbena::soft {

// `pair` is passed on only by the end that made it (end 0).
absl::StatusOr<LinkOffer> WriteOffer(const QueuePair& queue_pair, const SharedMapping& pair, int end,
                                     const LinkParameters& parameters);

// An offer taken apart and found sound.
struct ReceivedOffer {
  std::shared_ptr<SharedMapping> pair;  // Null if the offer is an answer.
  LinkParameters parameters;            // The peer's.
  PairLink::Peer peer;
};

// `end` is the offering end. PermissionDenied if direct access is asked for and cannot be had; InvalidArgument for
// anything that such an offer cannot be; the descriptors are closed.
absl::StatusOr<ReceivedOffer> ReadOffer(LinkOffer offer, int end, const ucred& peer);

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_LINK_OFFER_H_
