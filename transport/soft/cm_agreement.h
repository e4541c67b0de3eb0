// What the two sides of a connection told each other about their queue pairs, from one side's point of view.

#ifndef VERBENA_TRANSPORT_SOFT_CM_AGREEMENT_H_
#define VERBENA_TRANSPORT_SOFT_CM_AGREEMENT_H_

#include <cstdint>

#include "transport/soft/cm_message.h"

namespace verbena::soft {

struct Agreement {
  bool peer_known = false;  // The peer's part is in it.
  uint32_t peer_queue_pair_number = 0;
  ConnectionParameters parameters;  // As this side's queue pair is to have them.
};

// What the peer's part of it comes to: what one side starts, the other responds to. The retry count is the active
// side's for both.
inline Agreement AgreementOf(const ConnectionParameters& peers, uint8_t retry_count) {
  Agreement agreement = {.peer_known = true, .peer_queue_pair_number = peers.qp_num, .parameters = peers};
  agreement.parameters.responder_resources = peers.initiator_depth;
  agreement.parameters.initiator_depth = peers.responder_resources;
  agreement.parameters.retry_count = retry_count;
  return agreement;
}

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_CM_AGREEMENT_H_
