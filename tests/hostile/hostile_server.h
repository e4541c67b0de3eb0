// A server that speaks to clients through the bare verbs and keeps no rule but those that the test wants it to keep:
// the other side of HostilePeer.
//
// Owner: the test. Thread: one.

#ifndef VERBENA_TESTS_HOSTILE_HOSTILE_SERVER_H_
#define VERBENA_TESTS_HOSTILE_HOSTILE_SERVER_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tests/hostile/hostile_peer.h"
#include "transport/verbs/cm_event_channel.h"
#include "transport/verbs/connection_id.h"

namespace verbena::hostile {

class HostileServer {
 public:
  static absl::StatusOr<std::unique_ptr<HostileServer>> Listen();

  const std::string& address() const { return address_; }  // "soft://127.0.0.1:PORT".

  // Waits for a connect request and accepts it with the answer that an honest server would give, after `spoil`.
  absl::StatusOr<std::unique_ptr<HostilePeer>> Accept(const std::function<void(wire::Hello*)>& spoil =
                                                          [](wire::Hello*) {});
  // The same, with these bytes for an answer.
  absl::StatusOr<std::unique_ptr<HostilePeer>> AcceptWith(absl::Span<const std::byte> answer);
  // Waits for a connect request and rejects it.
  absl::Status RejectWith(absl::Span<const std::byte> rejection);

 private:
  HostileServer(verbs::CmEventChannel channel, verbs::ConnectionId listener);
  absl::StatusOr<verbs::CmEvent> NextRequest();
  static absl::StatusOr<std::unique_ptr<HostilePeer>> Answer(verbs::CmEvent request, absl::Span<const std::byte> answer,
                                                             const protocol::Agreement& agreement);

  verbs::CmEventChannel channel_;
  verbs::ConnectionId listener_;
  const std::string address_;
};

}  // namespace verbena::hostile

#endif  // VERBENA_TESTS_HOSTILE_HOSTILE_SERVER_H_
