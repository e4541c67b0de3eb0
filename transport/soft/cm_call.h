// What the Cm* functions are made of: the process' one connection manager, and the way from a value to a return value.
//
// Only for cm_api*.cc.

#ifndef VERBENA_TRANSPORT_SOFT_CM_CALL_H_
#define VERBENA_TRANSPORT_SOFT_CM_CALL_H_

#include <rdma/rdma_cma.h>

#include <cerrno>
#include <new>

#include "transport/soft/cm_control_plane.h"
#include "transport/soft/control_io/forked_child.h"

namespace verbena::soft {

// Made on first use, never destroyed: the control thread may outlive main.
ControlPlane& Plane();

inline CmId& Own(rdma_cm_id* id) { return *static_cast<CmId*>(id); }
inline EventChannel* Own(rdma_event_channel* channel) { return static_cast<EventChannel*>(channel); }

// The errno value of a call -> its return value.
inline int Outcome(int error) {
  if (error == 0) return 0;
  errno = error;
  return -1;
}

// Every call that can fail goes through here: in the child of a fork all do, and so does one without memory.
template <typename Call>
int Guarded(Call call) {
  if (IsForkedChild()) return Outcome(ENODEV);
  try {
    return Outcome(call());
  } catch (const std::bad_alloc&) {
    return Outcome(ENOMEM);
  }
}

// The same for calls that lead to an event: a synchronous id waits for it.
template <typename Call>
int GuardedUntilEvent(rdma_cm_id* id, Call call) {
  return Guarded([&] {
    int error = call();
    return error != 0 ? error : Plane().AwaitOutcome(Own(id));
  });
}

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_CM_CALL_H_
