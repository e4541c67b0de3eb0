#include <memory>

#include "benchmarks/rpc_bench/bench_client.h"
#include "benchmarks/rpc_bench/closed_load.h"
#include "benchmarks/rpc_bench/open_load.h"
#include "benchmarks/rpc_bench/rounds.h"
#include "benchmarks/yardstick/child_process.h"

namespace verbena::benchmarks {
namespace {

EchoShape ShapeOf(const BenchSettings& settings) {
  return {.payload_bytes = settings.payload_bytes, .attachment_bytes = settings.attachment_bytes};
}

Span SpanOf(const BenchSettings& settings, const ChildProcess& server) {
  return {.warm_up = settings.round_duration / 10, .duration = settings.round_duration, .server = server.pid()};
}

absl::StatusOr<CallFigures> MeasureClosedLoop(const BenchSettings& settings, const ChildProcess& server) {
  absl::StatusOr<BenchClient> client = BenchClient::Connect(settings, server.line());
  if (!client.ok()) return client.status();
  return ClosedLoad(client->channel, ShapeOf(settings), settings.in_flight, SpanOf(settings, server)).Run();
}

// Calls have instants to keep, so that the client's loop never sleeps.
absl::StatusOr<CallFigures> MeasureOpenLoop(const BenchSettings& settings, const ChildProcess& server) {
  const PinnedThread pinned(settings.cpus.client);
  absl::StatusOr<BenchClient> client = BenchClient::ConnectDriven(settings, server.line(), WaitPolicy::kBusy);
  if (!client.ok()) return client.status();
  return OpenLoad(client->loop.get(), client->channel, ShapeOf(settings), settings.rate, settings.in_flight,
                  SpanOf(settings, server))
      .Run();
}

}  // namespace

absl::StatusOr<CallFigures> RunCallRound(const BenchSettings& settings,
                                         const std::vector<std::string>& server_arguments) {
  absl::StatusOr<ChildProcess> server = ChildProcess::Start(server_arguments);
  if (!server.ok()) return server.status();
  absl::StatusOr<CallFigures> figures =
      settings.rate > 0 ? MeasureOpenLoop(settings, *server) : MeasureClosedLoop(settings, *server);
  if (!figures.ok()) return figures.status();
  if (absl::Status status = server->Stop(); !status.ok()) return status;
  return figures;
}

}  // namespace verbena::benchmarks
