// One connect request, from the offer to the established connection.
//
// Owner: the loop that will own the connection. Thread: that loop's; who makes and rejects requests without an acceptor
// is the listener, on its own.

#ifndef VERBENA_TRANSPORT_ACCEPTOR_H_
#define VERBENA_TRANSPORT_ACCEPTOR_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "transport/acceptance.h"
#include "transport/cm_channel.h"
#include "transport/connection_setup.h"
#include "transport/device_selection.h"
#include "transport/event_loop.h"
#include "transport/protocol/handshake.h"
#include "transport/verbs/cm_event.h"
#include "transport/verbs/connection_id.h"
#include "transport/wire/hello.h"

namespace verbena::transport {

// A connect request, as the listener hands it to the loop that will own the connection.
struct ConnectRequest {
  verbs::ConnectionId id;
  std::vector<std::byte> private_data;
  uint8_t responder_resources;
  uint8_t initiator_depth;
  std::unique_ptr<CountedPlace> waiting;  // Among those that the loop has not come to.
};

// Tells the peer, unless it has given up.
void Reject(verbs::ConnectionId& id, const wire::Rejection& rejection);
// In the version that this side speaks.
wire::Rejection RejectionFor(wire::RejectReason reason);

class Acceptor : public ConnectionSetup {
 public:
  Acceptor(EventLoop* loop, const DeviceCandidate& candidate, std::shared_ptr<Acceptance> acceptance)
      : ConnectionSetup(loop, candidate, acceptance->options, acceptance->policy), acceptance_(std::move(acceptance)) {}

  // Once. `channel` is the loop's.
  void Start(CmChannel* channel, ConnectRequest request);

  bool OnSendArrived(uint32_t receive, absl::Span<const std::byte> bytes) override;

 private:
  void OnEvent(verbs::CmEvent& event) override;
  void OnConfirmed();
  absl::Status Answer(CmChannel* channel, ConnectRequest request);
  // Why there is no link.
  wire::RejectReason ReasonOf(const absl::Status& status) const;
  // Both return `why`.
  absl::Status Refuse(verbs::ConnectionId& id, wire::RejectReason reason, absl::Status why);
  absl::Status RefuseWith(verbs::ConnectionId& id, const wire::Rejection& rejection, absl::Status why);
  void Done(absl::StatusOr<std::unique_ptr<Connection>> outcome) override;
  absl::string_view Waiting() const override { return "the client to confirm the connection"; }

  const std::shared_ptr<Acceptance> acceptance_;
  std::string peer_;
  std::optional<protocol::Agreement> agreement_;
  std::optional<CountedPlace> place_;  // Among the unauthenticated.
  bool frame_came_ = false;            // Which confirms the connection, soon.
};

}  // namespace verbena::transport

#endif  // VERBENA_TRANSPORT_ACCEPTOR_H_
