#include "benchmarks/yardstick/peer_bench.h"

#include <sys/prctl.h>

#include <algorithm>
#include <csignal>
#include <iostream>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "benchmarks/yardstick/child_process.h"
#include "benchmarks/yardstick/cpu_pinning.h"
#include "benchmarks/yardstick/cpu_span.h"
#include "benchmarks/yardstick/load_bounds.h"

ABSL_FLAG(int64_t, payload, 64, "Bytes in the request and in the reply.");
ABSL_FLAG(int64_t, in_flight, 1, "Calls in flight, over all connections.");
ABSL_FLAG(int64_t, connections, 1, "Connections, used in turn.");
ABSL_FLAG(bool, streaming, false, "Messages of one stream, echoed, instead of calls.");
ABSL_FLAG(double, seconds, 2, "How long to measure.");
ABSL_FLAG(std::string, transport, "", "How the two ends reach each other; a wrong one is told what there is.");
ABSL_FLAG(bool, pinned, false, "Pin each end to a core of its own.");
ABSL_FLAG(bool, serve, false, "For the program itself: its other process.");

namespace verbena::benchmarks {
namespace {

CpuPair Cpus() { return absl::GetFlag(FLAGS_pinned) ? ChooseCpus() : CpuPair(); }

absl::StatusOr<std::string> ChosenTransport(const PeerBench& bench) {
  const std::string wish = absl::GetFlag(FLAGS_transport);
  if (wish.empty()) return bench.transports.front();
  if (std::find(bench.transports.begin(), bench.transports.end(), wish) != bench.transports.end()) return wish;
  return absl::InvalidArgumentError(
      absl::StrCat("--transport=", wish, " is none of: ", absl::StrJoin(bench.transports, ", ")));
}

absl::StatusOr<LoadShape> ShapeFromFlags(const PeerBench& bench) {
  const int64_t payload = absl::GetFlag(FLAGS_payload);
  const int64_t in_flight = absl::GetFlag(FLAGS_in_flight);
  const int64_t connections = absl::GetFlag(FLAGS_connections);
  absl::Status status = CheckSeconds(absl::GetFlag(FLAGS_seconds));
  status.Update(CheckBounds("payload", payload, 0, kPayloadBytesMax));
  status.Update(CheckBounds("in_flight", in_flight, 1, kInFlightMax));
  status.Update(CheckBounds("connections", connections, 1, kConnectionsMax));
  if (!status.ok()) return status;
  if (absl::Status checked = CheckMemory(in_flight, payload); !checked.ok()) return checked;
  const bool streaming = absl::GetFlag(FLAGS_streaming);
  if (streaming && !bench.streams) return absl::InvalidArgumentError(absl::StrCat(bench.name, " has no --streaming"));
  if (streaming && connections > 1) return absl::InvalidArgumentError("--streaming is over one connection");
  const absl::Duration duration = absl::Seconds(absl::GetFlag(FLAGS_seconds));
  return LoadShape{.payload_bytes = static_cast<size_t>(payload),
                   .in_flight = static_cast<size_t>(in_flight),
                   .connections = static_cast<size_t>(connections),
                   .streaming = streaming,
                   .warm_up = WarmUpFor(duration),
                   .duration = duration};
}

std::string ToJson(const std::string& transport, const LoadShape& shape, const LoadFigures& figures,
                   double cpu_seconds) {
  const LatencyHistogram& latencies = figures.latencies;
  const double gib = static_cast<double>(latencies.count() * shape.payload_bytes) / (1 << 30);
  return absl::StrFormat(
      R"({"transport":"%s","payload_bytes":%d,"in_flight":%d,"connections":%d,"streaming":%s,"calls":%d,"p50_us":%.3f,)"
      R"("p99_us":%.3f,"p9999_us":%.3f,"calls_per_second":%.1f,"cpu_seconds_per_gib":%.4f})",
      transport, shape.payload_bytes, shape.in_flight, shape.connections, shape.streaming ? "true" : "false",
      latencies.count(), latencies.PercentileMicroseconds(50), latencies.PercentileMicroseconds(99),
      latencies.PercentileMicroseconds(99.99), figures.calls_per_second, gib > 0 ? cpu_seconds / gib : 0);
}

absl::Status Measure(const PeerBench& bench, const std::string& transport, LoadShape shape) {
  std::vector<std::string> flags = {"--serve",
                                    absl::StrCat("--transport=", transport),
                                    absl::StrCat("--pinned=", absl::GetFlag(FLAGS_pinned)),
                                    absl::StrCat("--payload=", shape.payload_bytes),
                                    absl::StrCat("--in_flight=", shape.in_flight),
                                    absl::StrCat("--connections=", shape.connections),
                                    absl::StrCat("--streaming=", shape.streaming)};
  if (bench.own_flags != nullptr) {
    for (std::string& flag : bench.own_flags()) flags.push_back(std::move(flag));
  }
  absl::StatusOr<ChildProcess> server = ChildProcess::Start(flags);
  if (!server.ok()) return server.status();
  CpuSpan cpu(server->pid());
  shape.cpu = &cpu;
  const PinnedThread pinned(Cpus().client);
  const absl::StatusOr<LoadFigures> figures = bench.measure(server->line(), shape);
  if (!figures.ok()) return figures.status();
  if (figures->latencies.count() == 0) {
    return absl::DeadlineExceededError(
        absl::StrCat("no call was done within --seconds=", absl::GetFlag(FLAGS_seconds)));
  }
  std::cout << ToJson(transport, shape, *figures, cpu.Seconds()) << std::endl;
  return absl::OkStatus();  // The server is killed: gRPC's takes up to ten seconds to end behind large messages.
}

absl::Status Run(const PeerBench& bench) {
  const absl::StatusOr<std::string> transport = ChosenTransport(bench);
  if (!transport.ok()) return transport.status();
  const absl::StatusOr<LoadShape> shape = ShapeFromFlags(bench);
  if (!shape.ok()) return shape.status();
  if (bench.check != nullptr) {
    if (absl::Status status = bench.check(*shape); !status.ok()) return status;
  }
  if (!absl::GetFlag(FLAGS_serve)) return Measure(bench, *transport, *shape);
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // What only polls does not see that nobody is there any more.
  const PinnedThread pinned(Cpus().server);
  return bench.serve(*transport, *shape);
}

}  // namespace

int RunPeerBench(const PeerBench& bench, int argc, char** argv) {
  if (absl::ParseCommandLine(argc, argv).size() > 1) {
    std::cerr << absl::StrCat(bench.name, ": takes flags alone\n");
    return 2;
  }
  const absl::Status status = Run(bench);
  if (!status.ok()) std::cerr << absl::StrCat(bench.name, ": ", status.ToString(), "\n");
  return status.ok() ? 0 : 1;
}

}  // namespace verbena::benchmarks
