// The software RDMA device "soft0": what the other half of it, the connection manager (cm_*), may ask of the engine.
//
// There is one device and one context per process, made on first use and never destroyed; ibv_open_device hands out the
// same context again. Everything else goes through the table of soft_api.h. Functions here keep the conventions of the
// verbs call that they implement.
//
// Threads: any.

#ifndef VERBENA_TRANSPORT_SOFT_DEVICE_H_
#define VERBENA_TRANSPORT_SOFT_DEVICE_H_

#include <infiniband/verbs.h>

namespace verbena::soft {

inline constexpr char kDeviceName[] = "soft0";

// The context of this process (`id->verbs`). Null with errno set if the kernel refuses the memory that it needs (a
// later call tries again), and with ENODEV in a child made by fork().
ibv_context* SoftContext();

// Makes a queue pair in state INIT, as rdma_create_qp leaves it: receives may be posted. `attributes->cap` is updated
// to what was granted. 0, or an errno value (EINVAL: attributes that this device cannot do; ENOMEM: too many queue
// pairs).
int CreateQueuePair(ibv_pd* domain, ibv_qp_init_attr* attributes, ibv_qp** queue_pair);

// Destroys it. The peer, if linked, sees its outstanding sends fail as retry-exceeded. Work that is still outstanding
// here is dropped without completions. Waits until asynchronous events that were read for it are acknowledged.
int DestroyQueuePair(ibv_qp* queue_pair);

// ibv_modify_qp: 0 or an errno value. Moving to ERR flushes and tells the peer's device.
int ModifyQueuePair(ibv_qp* queue_pair, ibv_qp_attr* attributes, int mask);

// What may befall the device as a whole; device_health.h says what that means. The port lost its link or has it again:
// PORT_ERR or PORT_ACTIVE, unless it was so before.
void RaisePortEvent(bool active);
// DEVICE_FATAL, once. Every queue pair is in ERR afterwards, and whoever asked by OnDeviceFatal was told: under no lock
// of the device.
void RaiseDeviceFatal();
// There is one listener, the last that was set.
void OnDeviceFatal(void (*listener)());

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_DEVICE_H_
