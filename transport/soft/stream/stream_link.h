// Linking of two queue pairs of different processes by a stream between them: what link.h is within a host.
//
//   active:   offer = MakeStreamOffer(qp)          -> REQ ->   passive: answer = AcceptStreamOffer(qp, offer, stream)
//   active:   CompleteStreamOffer(qp, answer, stream)    <- REP <-
//
// The queue pairs are RTS then; the stream carries nothing for them before each direction is given to them (stream.h).
// The end of the stream is told by OnPeerGone, as within a host.
//
// Threads: any; one call at a time for one queue pair.

#ifndef VERBENA_TRANSPORT_SOFT_STREAM_STREAM_LINK_H_
#define VERBENA_TRANSPORT_SOFT_STREAM_STREAM_LINK_H_

#include <infiniband/verbs.h>

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "transport/soft/link.h"
#include "transport/soft/stream/stream.h"

namespace verbena::soft {

absl::StatusOr<LinkOffer> MakeStreamOffer(ibv_qp* qp, const LinkParameters& parameters);
absl::StatusOr<LinkOffer> AcceptStreamOffer(ibv_qp* qp, const LinkOffer& peer_offer, std::shared_ptr<Stream> stream,
                                            const LinkParameters& parameters);
absl::Status CompleteStreamOffer(ibv_qp* qp, const LinkOffer& peer_answer, std::shared_ptr<Stream> stream);

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_STREAM_STREAM_LINK_H_
