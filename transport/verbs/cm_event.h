// What the connection manager reports: an address resolved, a connection requested, made, refused or lost.
//
// Everything is copied out and the event is acknowledged before anyone sees it, so destroying or migrating its id never
// waits for us, and private data stays valid. The id of a connect request is made by the connection manager; the event
// owns it until TakeRequest, and destroys it, which rejects the request, if nobody takes it.
//
// Owner: the caller; move-only. Thread: its channel's.

#ifndef VERBENA_TRANSPORT_VERBS_CM_EVENT_H_
#define VERBENA_TRANSPORT_VERBS_CM_EVENT_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "transport/verbs/connection_id.h"
#include "transport/verbs/verbs_api.h"

namespace verbena::verbs {

// "connect request", "established", …: words for people and logs.
absl::string_view ToString(rdma_cm_event_type type);

class CmEvent {
 public:
  // Copies `event`, which stays the caller's to acknowledge.
  CmEvent(const VerbsApi& api, const rdma_cm_event& event);

  rdma_cm_event_type type() const { return type_; }
  // As librdmacm gives it: 0, a negative errno, or, for a rejection over InfiniBand or RoCE, the positive reason of the
  // InfiniBand specification (28: by the peer's program). Failure() has the words.
  int status() const { return status_; }
  // Which ConnectionId (see ConnectionId::get) this is about; for a connect request the listener's.
  const rdma_cm_id* id() const { return id_; }

  // As the peer sent it; may be longer than it sent, filled up with zeros. Empty where there is none.
  absl::Span<const std::byte> private_data() const { return {private_data_.data(), private_data_length_}; }
  // READs that the peer will have in flight at us / takes from us, for connect requests and established.
  uint8_t responder_resources() const { return responder_resources_; }
  uint8_t initiator_depth() const { return initiator_depth_; }

  // The id of a connect request; once, and only for RDMA_CM_EVENT_CONNECT_REQUEST.
  ConnectionId TakeRequest();

  // The reason in words if this event ends a connection or an attempt; OK for those that do not.
  absl::Status Failure() const;

 private:
  // Constant after construction, but for request_.
  rdma_cm_event_type type_;
  int status_;
  const rdma_cm_id* id_;
  std::optional<ConnectionId> request_;
  uint8_t responder_resources_ = 0;
  uint8_t initiator_depth_ = 0;
  uint8_t private_data_length_ = 0;
  std::array<std::byte, 255> private_data_;
};

}  // namespace verbena::verbs

#endif  // VERBENA_TRANSPORT_VERBS_CM_EVENT_H_
