// The rules of ibv_modify_qp for a reliable-connected queue pair: which state may follow which, and with which
// attributes. They are the tables of the InfiniBand specification (chapter 11, "Modify Queue Pair") and of
// ibv_modify_qp(3).
//
// Pure. Thread: any.

#ifndef VERBENA_TRANSPORT_SOFT_QUEUE_PAIR_TRANSITIONS_H_
#define VERBENA_TRANSPORT_SOFT_QUEUE_PAIR_TRANSITIONS_H_

#include <infiniband/verbs.h>

#include "transport/soft/profile.h"

namespace verbena::soft {

// Whether a queue pair in state `from` may go to state `to` (which may be the same) with a modify call of this mask:
// every attribute that the way demands is there, and none that it forbids.
bool TransitionIsAllowed(ibv_qp_state from, ibv_qp_state to, int mask);

// Whether the attributes that the mask names have values that this device takes. `gid_count` is the length of the
// port's GID table.
bool AttributesAreValid(const ibv_qp_attr& attributes, int mask, int gid_count, const Profile& profile);

// Copies the attributes that the mask names, but for the states.
void CopyAttributes(const ibv_qp_attr& from, int mask, ibv_qp_attr* to);

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_QUEUE_PAIR_TRANSITIONS_H_
