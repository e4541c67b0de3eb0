// An asynchronous event of a device: a queue pair that drained, a shared receive queue that ran low, a port that died.
//
// A value: what the event says is copied out and the event is acknowledged before anyone sees it, so destroying the
// object that it is about never waits for us. `completion_queue` and `shared_receive_queue` are identities to compare
// with, not to follow: the object may be gone if another thread owns it.

#ifndef VERBENA_TRANSPORT_VERBS_ASYNC_EVENT_H_
#define VERBENA_TRANSPORT_VERBS_ASYNC_EVENT_H_

#include <infiniband/verbs.h>

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "transport/verbs/verbs_api.h"

namespace verbena::verbs {

struct AsyncEvent {
  ibv_event_type type;
  // What the event is about: exactly one of these four is set, by type; none for events of the whole device.
  uint32_t queue_pair_number = 0;
  const ibv_cq* completion_queue = nullptr;
  const ibv_srq* shared_receive_queue = nullptr;
  int port = 0;

  // The words of ibv_event_type_str and what the event is about: "last WQE reached (queue pair 17)". Of a port that is
  // lost or back, what became of it: "port 1 went down", "port 1 came up".
  std::string ToString() const;
};

// The next event of `context`, nothing if there is none. Blocks if the descriptor does: see
// Device::MakeAsyncEventsNonBlocking.
absl::StatusOr<std::optional<AsyncEvent>> NextAsyncEvent(const VerbsApi& api, ibv_context* context);

}  // namespace verbena::verbs

#endif  // VERBENA_TRANSPORT_VERBS_ASYNC_EVENT_H_
