// For tests: links queue pairs of two processes that share a socket, without a connection manager.

#ifndef VERBENA_TRANSPORT_SOFT_TESTING_OFFER_PIPE_H_
#define VERBENA_TRANSPORT_SOFT_TESTING_OFFER_PIPE_H_

#include <infiniband/verbs.h>
#include <sys/socket.h>

#include "transport/soft/link.h"

namespace verbena::soft {

// Called at both ends of a SOCK_SEQPACKET pair that was made before the fork, `active` at one of them. Aborts if
// anything fails.
void LinkOverSocket(ibv_qp* queue_pair, int socket, bool active, const LinkParameters& parameters = {});

// The halves of it, for a peer that looks at what it is given. `sender` is who the kernel says sent it. At the end of
// the socket the offer is empty.
void SendOffer(int socket, const LinkOffer& offer);
LinkOffer ReceiveOffer(int socket, ucred* sender);
// Before an offer is received: has the kernel say who sends.
void AskForSenders(int socket);

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_TESTING_OFFER_PIPE_H_
