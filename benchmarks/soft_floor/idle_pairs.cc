#include "benchmarks/soft_floor/idle_pairs.h"

#include <sys/resource.h>

#include <utility>

namespace verbena::benchmarks {

absl::Status IdlePairs::Connect(const verbs::VerbsApi& api, const std::string& host, uint16_t port, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) {
    absl::StatusOr<ConnectingId> resolved = ResolveRaw(api, host, port);
    if (!resolved.ok()) return resolved.status();
    if (absl::Status status = Add(*std::move(resolved)); !status.ok()) return status;
    ConnectingId& connection = pairs_.back()->connection;
    if (absl::Status status = connection.id.Connect({}); !status.ok()) return status;
    absl::Status established = WaitForCmEvent(connection.channel, RDMA_CM_EVENT_ESTABLISHED).status();
    if (!established.ok()) return established;
  }
  return absl::OkStatus();
}

absl::Status IdlePairs::Accept(RawListener& listener, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) {
    absl::StatusOr<ConnectingId> request = listener.NextRequest();
    if (!request.ok()) return request.status();
    if (absl::Status status = Add(*std::move(request)); !status.ok()) return status;
    if (absl::Status status = pairs_.back()->connection.id.Accept({}); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status IdlePairs::Add(ConnectingId connection) {
  absl::StatusOr<verbs::QueuePair> queue_pair = verbs::QueuePair::Create(
      connection.id, end_.domain(),
      {.send_completions = &end_.queue(), .receive_completions = &end_.queue(), .sends_max = 1, .receives_max = 1});
  if (!queue_pair.ok()) return queue_pair.status();
  pairs_.push_back(std::make_unique<Pair>(Pair{std::move(connection), *std::move(queue_pair)}));
  return absl::OkStatus();
}

absl::Status IdlePairs::AwaitDisconnects() {
  for (const std::unique_ptr<Pair>& pair : pairs_) {
    absl::Status gone = WaitForCmEvent(pair->connection.channel, RDMA_CM_EVENT_DISCONNECTED).status();
    if (!gone.ok()) return gone;
  }
  return absl::OkStatus();
}

void RaiseDescriptorLimit() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);  // Refused: fewer connections fit, which is then said.
}

}  // namespace verbena::benchmarks
