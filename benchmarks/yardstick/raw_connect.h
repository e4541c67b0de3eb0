// Connects raw ends through the connection manager. Blocking; setup is not measured.

#ifndef VERBENA_BENCHMARKS_YARDSTICK_RAW_CONNECT_H_
#define VERBENA_BENCHMARKS_YARDSTICK_RAW_CONNECT_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "benchmarks/yardstick/raw_end.h"
#include "transport/verbs/cm_event.h"
#include "transport/verbs/cm_event_channel.h"
#include "transport/verbs/connection_id.h"
#include "transport/verbs/verbs_api.h"

namespace verbena::benchmarks {

// An id that is about to be connected, with an event channel of its own: resolved, or of a request that came.
struct ConnectingId {
  verbs::CmEventChannel channel;
  verbs::ConnectionId id;
};

// The next event of `channel`, which must be of this type. DeadlineExceeded: none came in a minute; else the error
// of an event that tells of one.
absl::StatusOr<verbs::CmEvent> WaitForCmEvent(verbs::CmEventChannel& channel, rdma_cm_event_type wanted);

// Resolves address and route. `host` is an IPv4 address.
absl::StatusOr<ConnectingId> ResolveRaw(const verbs::VerbsApi& api, const std::string& host, uint16_t port);

// Listens on a port of its own.
class RawListener {
 public:
  // `host` is an IPv4 address.
  static absl::StatusOr<RawListener> Create(const verbs::VerbsApi& api, const std::string& host);

  uint16_t port() const { return id_.LocalPort(); }

  // Waits for the next request; it must be accepted by the caller, as Accept does.
  absl::StatusOr<ConnectingId> NextRequest();
  // Waits for the next request and accepts it.
  absl::StatusOr<std::unique_ptr<RawEnd>> Accept(const RawShape& shape);

 private:
  RawListener(verbs::CmEventChannel channel, verbs::ConnectionId id)
      : channel_(std::move(channel)), id_(std::move(id)) {}

  verbs::CmEventChannel channel_;
  verbs::ConnectionId id_;
};

absl::StatusOr<std::unique_ptr<RawEnd>> RawConnect(const verbs::VerbsApi& api, const std::string& host, uint16_t port,
                                                   const RawShape& shape);

}  // namespace verbena::benchmarks

#endif  // VERBENA_BENCHMARKS_YARDSTICK_RAW_CONNECT_H_
