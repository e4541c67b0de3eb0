// What queue pairs without a connection manager send each other: an offer of link.h, with the numbers of both.
//
// Both ends run on one host, so the bytes are a structure as it stands in memory, with a version. Thread: any; nothing
// here blocks.

#ifndef VERBENA_TRANSPORT_SOFT_OUT_OF_BAND_MESSAGE_H_
#define VERBENA_TRANSPORT_SOFT_OUT_OF_BAND_MESSAGE_H_

#include <cstdint>

#include "transport/soft/control_io/unix_socket.h"
#include "transport/soft/link.h"

namespace verbena::soft {

enum class OfferKind : uint32_t { kOffer = 1, kAnswer = 2 };

struct OfferMessage {
  OfferKind kind = OfferKind::kOffer;
  uint32_t from = 0;  // Queue pair numbers.
  uint32_t to = 0;
  LinkOffer offer;
};

// 0 or an errno value: EPIPE, ECONNRESET: the peer is gone.
int SendOffer(int socket, OfferKind kind, uint32_t from, uint32_t to, const LinkOffer& offer);

// Malformed: nothing that SendOffer could have written, but for the offer's own bytes.
Receipt ReceiveOffer(int socket, OfferMessage* message);

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_OUT_OF_BAND_MESSAGE_H_
