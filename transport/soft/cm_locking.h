// Threads and locks of the connection manager, in one place.
//
// One mutex, ControlPlane::mu_, guards everything: ids, channels' queues, ports, sockets, deadlines. It is the control
// plane: a few calls per connection, so finer locks would buy nothing but orders to get wrong.
//
// Order: ControlPlane::mu_ first, then whatever the engine locks inside the functions of device.h and link.h; so also
// before a fork, whose handlers of the engine Plane() has registered first. The engine calls the connection manager to
// say that the device has failed (OnDeviceFatal), under none of its locks. Not called with mu_ held, since they wait
// for the application: DestroyQueuePair (for acknowledgements), poll(2) on a channel. A queue pair's link functions are
// called one at a time because all calls are made with mu_ held, and an id forgets its queue pair, with mu_ held,
// before it is destroyed.
//
// Two kinds of threads: the application's, in the Cm* calls, and one control thread per process, in
// ControlThread::Run, which takes mu_ for each socket that became readable and for deadlines, and sleeps otherwise: in
// epoll_wait(2), so that an idle process uses no CPU, and now and then for the table of descriptors to grow. The
// control thread starts with the first id that listens or connects and is never stopped; it blocks all signals.
//
// The application reads the rdma_cm_id's own fields without a lock. So the control thread writes them only before the
// id is given out (a connect request's), and otherwise they change only in calls of the application.
//
// fork(): the handler of pthread_atfork holds mu_ over the fork. The child closes its copies of all control sockets, so
// that a peer sees the end of the parent when the parent ends, and every Cm* call in it fails with ENODEV.

#ifndef VERBENA_TRANSPORT_SOFT_CM_LOCKING_H_
#define VERBENA_TRANSPORT_SOFT_CM_LOCKING_H_

#include <mutex>

namespace verbena::soft {

// Passed down as a token by code that holds ControlPlane::mu_.
using ControlLock = std::unique_lock<std::mutex>;

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_CM_LOCKING_H_
