// Completion channels of peers, one descriptor each however many queue pairs use it.
//
// Thread: any.

#ifndef VERBENA_TRANSPORT_SOFT_PEER_CHANNELS_H_
#define VERBENA_TRANSPORT_SOFT_PEER_CHANNELS_H_

#include <sys/types.h>

#include <cstdint>
#include <memory>

#include "transport/soft/wake_pipe.h"

namespace verbena::soft {

// What is in use for channel `serial` of `process`; `writer` if there is nothing yet, else that is closed. The process
// id comes from the kernel, so one peer cannot speak for another. It is 0 for every process of a pid namespace that
// ours does not see: those cannot be told apart, so each gets its own.
std::shared_ptr<WakeWriter> SharePeerChannel(pid_t process, uint64_t serial, WakeWriter writer);

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_PEER_CHANNELS_H_
