#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "benchmarks/rpc_bench/bench_client.h"
#include "benchmarks/rpc_bench/blocking_load.h"
#include "benchmarks/rpc_bench/blocking_stream_load.h"
#include "benchmarks/rpc_bench/bulk_calls.h"
#include "benchmarks/rpc_bench/closed_load.h"
#include "benchmarks/rpc_bench/coroutine_load.h"
#include "benchmarks/rpc_bench/issued_load.h"
#include "benchmarks/rpc_bench/one_way_load.h"
#include "benchmarks/rpc_bench/open_load.h"
#include "benchmarks/rpc_bench/rounds.h"
#include "benchmarks/rpc_bench/stream_load.h"
#include "benchmarks/yardstick/child_process.h"
#include "benchmarks/yardstick/load.h"

namespace verbena::benchmarks {
namespace {

EchoShape ShapeOf(const BenchSettings& settings) {
  return {.payload_bytes = settings.payload_bytes, .attachment_bytes = settings.attachment_bytes};
}

OneWayShape OneWayOf(const BenchSettings& settings) {
  return {.sender = *settings.one_way,
          .payload_bytes = settings.payload_bytes,
          .attachment_bytes = settings.attachment_bytes};
}

Span SpanOf(const BenchSettings& settings, const ChildProcess& server) {
  return {.warm_up = WarmUpFor(settings.round_duration), .duration = settings.round_duration, .server = server.pid()};
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

absl::StatusOr<CallFigures> MeasureStream(const BenchSettings& settings, const ChildProcess& server) {
  absl::StatusOr<BenchClient> client = BenchClient::Connect(settings, server.line());
  if (!client.ok()) return client.status();
  if (settings.one_way) return RunOneWayReactor(client->channel, OneWayOf(settings), SpanOf(settings, server));
  return StreamLoad(client->channel, settings.payload_bytes, settings.in_flight, SpanOf(settings, server)).Run();
}

CallFigures BesideReference(CallFigures figures, const CallFigures& reference) {
  figures.reference_p50_us = reference.p50_us;
  figures.reference_p99_us = reference.p99_us;
  return figures;
}

absl::StatusOr<CallFigures> MeasureCallerDrives(const BenchSettings& settings, const ChildProcess& server) {
  absl::StatusOr<CallFigures> reference;
  {
    absl::StatusOr<BenchClient> client = BenchClient::Connect(settings, server.line());
    if (!client.ok()) return client.status();
    reference = RunBlockingCalls(client->channel, ShapeOf(settings), SpanOf(settings, server));
    if (!reference.ok()) return reference.status();
  }
  const PinnedThread pinned(settings.cpus.client);
  absl::StatusOr<BenchClient> client = BenchClient::ConnectDriven(settings, server.line(), settings.wait);
  if (!client.ok()) return client.status();
  absl::StatusOr<CallFigures> figures = RunBlockingCalls(client->channel, ShapeOf(settings), SpanOf(settings, server));
  if (!figures.ok()) return figures.status();
  return BesideReference(*figures, *reference);
}

// Each end has a core, which the callers share with their loop: a caller beside the server would wait for that one's.
absl::StatusOr<CallFigures> MeasureCallers(const BenchSettings& settings, const ChildProcess& server) {
  const PinnedThread pinned(settings.cpus.client);
  absl::StatusOr<BenchClient> client = BenchClient::Connect(settings, server.line());
  if (!client.ok()) return client.status();
  return RunBlockingCallers(client->channel, ShapeOf(settings), settings.in_flight, SpanOf(settings, server));
}

// As callers that block.
absl::StatusOr<CallFigures> MeasureBlockingStream(const BenchSettings& settings, const ChildProcess& server) {
  const PinnedThread pinned(settings.cpus.client);
  absl::StatusOr<BenchClient> client = BenchClient::Connect(settings, server.line());
  if (!client.ok()) return client.status();
  if (settings.one_way) return RunBlockingOneWay(client->channel, OneWayOf(settings), SpanOf(settings, server));
  return RunBlockingStream(client->channel, settings.payload_bytes, settings.in_flight, SpanOf(settings, server));
}

absl::StatusOr<CallFigures> MeasureCoroutines(const BenchSettings& settings, const ChildProcess& server) {
  const PinnedThread pinned(settings.cpus.client);
  absl::StatusOr<BenchClient> client = BenchClient::ConnectDriven(settings, server.line(), settings.wait);
  if (!client.ok()) return client.status();
  return RunCoroutineCalls(*client->loop, client->channel, ShapeOf(settings), settings.in_flight,
                           SpanOf(settings, server));
}

absl::StatusOr<CallFigures> MeasureCoroutineStream(const BenchSettings& settings, const ChildProcess& server) {
  const PinnedThread pinned(settings.cpus.client);
  absl::StatusOr<BenchClient> client = BenchClient::ConnectDriven(settings, server.line(), settings.wait);
  if (!client.ok()) return client.status();
  if (settings.one_way) {
    return RunCoroutineOneWay(*client->loop, client->channel, OneWayOf(settings), SpanOf(settings, server));
  }
  return RunCoroutineStream(*client->loop, client->channel, settings.payload_bytes, settings.in_flight,
                            SpanOf(settings, server));
}

// As callers that block: the issuer shares a core with its loop.
absl::StatusOr<CallFigures> MeasureIssuer(const BenchSettings& settings, const ChildProcess& server) {
  const PinnedThread pinned(settings.cpus.client);
  absl::StatusOr<BenchClient> client = BenchClient::Connect(settings, server.line());
  if (!client.ok()) return client.status();
  return RunIssuedCalls(client->channel, ShapeOf(settings), settings.in_flight, SpanOf(settings, server));
}

absl::StatusOr<CallFigures> MeasureBeside(const BenchSettings& settings, const ChildProcess& server) {
  absl::StatusOr<BenchClient> client = BenchClient::Connect(settings, server.line());
  if (!client.ok()) return client.status();
  const auto measure = [&] {
    return ClosedLoad(client->channel, ShapeOf(settings), settings.in_flight, SpanOf(settings, server)).Run();
  };
  const absl::StatusOr<CallFigures> reference = measure();
  if (!reference.ok()) return reference.status();
  BulkCalls bulk(client->channel, settings.beside_attachment_bytes, settings.beside_in_response);
  if (absl::Status status = bulk.Start(); !status.ok()) return status;
  absl::StatusOr<CallFigures> figures = measure();
  if (absl::Status status = bulk.Stop(); !status.ok()) return status;
  if (!figures.ok()) return figures.status();
  figures->beside_gbytes_per_second = bulk.gbytes_per_second();
  return BesideReference(*figures, *reference);
}

absl::StatusOr<CallFigures> MeasureLoad(const BenchSettings& settings, const ChildProcess& server) {
  switch (settings.load) {
    case Load::kClosedLoop:
      return MeasureClosedLoop(settings, server);
    case Load::kOpenLoop:
      return MeasureOpenLoop(settings, server);
    case Load::kStream:
      return MeasureStream(settings, server);
    case Load::kBlockingStream:
      return MeasureBlockingStream(settings, server);
    case Load::kCallerDrives:
      return MeasureCallerDrives(settings, server);
    case Load::kCallers:
      return MeasureCallers(settings, server);
    case Load::kCoroutines:
      return MeasureCoroutines(settings, server);
    case Load::kCoroutineStream:
      return MeasureCoroutineStream(settings, server);
    case Load::kIssuer:
      return MeasureIssuer(settings, server);
    case Load::kBeside:
      return MeasureBeside(settings, server);
  }
  return absl::InternalError("a load of no kind");
}

const char* ToString(Load load) {
  switch (load) {
    case Load::kClosedLoop:
      return "closed loop";
    case Load::kOpenLoop:
      return "open loop";
    case Load::kStream:
      return "stream";
    case Load::kBlockingStream:
      return "blocking stream";
    case Load::kCallerDrives:
      return "caller drives";
    case Load::kCallers:
      return "blocking callers";
    case Load::kCoroutines:
      return "coroutines";
    case Load::kCoroutineStream:
      return "coroutine's stream";
    case Load::kIssuer:
      return "issuer";
    case Load::kBeside:
      return "beside an attachment";
  }
  return "?";
}

}  // namespace

std::string LoadOf(const BenchSettings& settings) {
  const std::string load = ToString(settings.load);
  if (!settings.one_way) return load;
  return absl::StrCat(load, *settings.one_way == Sender::kClient ? ", from the client" : ", from the server");
}

absl::StatusOr<CallFigures> RunCallRound(const BenchSettings& settings,
                                         const std::vector<std::string>& server_arguments) {
  absl::StatusOr<ChildProcess> server = ChildProcess::Start(server_arguments);
  if (!server.ok()) return server.status();
  absl::StatusOr<CallFigures> figures = MeasureLoad(settings, *server);
  if (!figures.ok()) return figures.status();
  if (absl::Status status = server->Stop(); !status.ok()) return status;
  return figures;
}

}  // namespace verbena::benchmarks
