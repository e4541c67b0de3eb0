// A connection-manager event channel: the file descriptor through which connections are requested, made and lost.
//
// The descriptor is non-blocking. Owner: the caller; it must outlive the ids made on it or migrated to it. Thread: one,
// the same that destroys its ids.

#ifndef VERBENA_TRANSPORT_VERBS_CM_EVENT_CHANNEL_H_
#define VERBENA_TRANSPORT_VERBS_CM_EVENT_CHANNEL_H_

#include <optional>

#include "absl/status/statusor.h"
#include "transport/verbs/owned_object.h"
#include "transport/verbs/verbs_api.h"

namespace verbena::verbs {

class CmEvent;  // cm_event.h

class CmEventChannel {
 public:
  // Unavailable or NotFound where the kernel has no RDMA connection manager.
  static absl::StatusOr<CmEventChannel> Create(const VerbsApi& api);

  // The next event, copied out and acknowledged; nothing if there is none.
  absl::StatusOr<std::optional<CmEvent>> NextEvent();

  int fd() const { return channel_->fd; }
  rdma_event_channel* get() const { return channel_.get(); }
  const VerbsApi& api() const { return channel_.api(); }

 private:
  explicit CmEventChannel(OwnedObject<rdma_event_channel, &VerbsApi::cm_destroy_event_channel> channel)
      : channel_(std::move(channel)) {}

  OwnedObject<rdma_event_channel, &VerbsApi::cm_destroy_event_channel> channel_;
};

}  // namespace verbena::verbs

#endif  // VERBENA_TRANSPORT_VERBS_CM_EVENT_CHANNEL_H_
