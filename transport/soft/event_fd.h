// The two calls on an eventfd, and how a descriptor from a peer is recognized as one.

#ifndef VERBENA_TRANSPORT_SOFT_EVENT_FD_H_
#define VERBENA_TRANSPORT_SOFT_EVENT_FD_H_

#include <cstdint>

#include "transport/soft/unique_fd.h"

namespace verbena::soft {

// Adds one, without waiting. Failures are ignored: the counter is full, so the reader is awake.
void SignalEventFd(int fd);

// Reads (and, but for a semaphore, resets) the counter. Waits unless the descriptor is non-blocking. 0, or an errno
// value: EAGAIN, EINTR.
int DrainEventFd(int fd);

// A peer could pass a pipe, whose write may block for ever, or a socket, whose write may raise SIGPIPE.
bool IsEventFd(const UniqueFd& fd);

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_EVENT_FD_H_
