#include "benchmarks/soft_floor/device_figure.h"

#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "benchmarks/soft_floor/idle_pairs.h"
#include "benchmarks/soft_floor/physical_floors.h"
#include "benchmarks/yardstick/child_process.h"
#include "benchmarks/yardstick/cpu_pinning.h"
#include "benchmarks/yardstick/raw_connect.h"
#include "benchmarks/yardstick/raw_load.h"
#include "transport/soft/soft_api.h"

namespace verbena::benchmarks {
namespace {

using Clock = std::chrono::steady_clock;
using Kind = DeviceFigure::Kind;

constexpr char kHost[] = "127.0.0.1";
constexpr uint32_t kInFlight = 32;

constexpr std::array<std::pair<Kind, const char*>, 5> kKinds = {{{Kind::kPingPong, "ping_pong"},
                                                                 {Kind::kPipelined, "pipelined"},
                                                                 {Kind::kReadStream, "read_stream"},
                                                                 {Kind::kDeath, "death"},
                                                                 {Kind::kIdle, "idle"}}};

RawShape ShapeOf(const DeviceFigure& figure) {
  RawShape shape;
  shape.wait = figure.wait;
  if (figure.kind == Kind::kPipelined) shape.receives = kInFlight + 1;
  if (figure.kind == Kind::kReadStream) shape.message_bytes = kReadBytes;
  if (figure.kind == Kind::kReadStream) shape.ring_areas = kReadAreas;
  shape.others = 2 * figure.idle_pairs;
  return shape;
}

std::vector<std::string> Arguments(const DeviceFigure& figure, absl::string_view role, absl::Duration duration) {
  return {absl::StrCat("--role=", role), absl::StrCat("--kind=", KindName(figure.kind)),
          absl::StrCat("--busy=", figure.wait == transport::WaitPolicy::kBusy),
          absl::StrCat("--idle_pairs=", figure.idle_pairs),
          absl::StrCat("--seconds=", absl::ToDoubleSeconds(duration))};
}

// Processor time of this process so far, in seconds.
double ProcessorSeconds() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) { return static_cast<double>(time.tv_sec) + 1e-6 * time.tv_usec; };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double MeasureIdle(absl::Duration duration) {
  const double before = ProcessorSeconds();
  std::this_thread::sleep_for(absl::ToChronoNanoseconds(duration));
  return 100 * (ProcessorSeconds() - before) / absl::ToDoubleSeconds(duration);
}

absl::StatusOr<double> MeasureDeath(std::optional<ChildProcess>& server, IdlePairs& pairs) {
  const Clock::time_point start = Clock::now();
  server.reset();
  if (absl::Status status = pairs.AwaitDisconnects(); !status.ok()) return status;
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

absl::StatusOr<double> MeasureLoad(const DeviceFigure& figure, RawEnd& end, absl::Duration duration) {
  switch (figure.kind) {
    case Kind::kPipelined:
      return RunPipelined(end, kInFlight, duration);
    case Kind::kReadStream:
      return RunReadStream(end, duration);
    default: {
      const int batch = figure.wait == transport::WaitPolicy::kBusy ? kSpinningBatch : 1;
      const absl::StatusOr<LatencyHistogram> histogram = RunPingPong(end, duration, batch);
      if (!histogram.ok()) return histogram.status();
      return histogram->PercentileMicroseconds(50);
    }
  }
}

absl::StatusOr<double> MeasureAgainst(std::optional<ChildProcess>& server, const DeviceFigure& figure,
                                      absl::Duration duration) {
  uint32_t port = 0;
  if (!absl::SimpleAtoi(server->line(), &port)) {
    return absl::InternalError(absl::StrCat("the other end said \"", server->line(), "\", not its port"));
  }
  const verbs::VerbsApi& api = soft::SoftApi();
  absl::StatusOr<std::unique_ptr<RawEnd>> end = RawConnect(api, kHost, static_cast<uint16_t>(port), ShapeOf(figure));
  if (!end.ok()) return end.status();
  IdlePairs pairs(**end);
  absl::Status status = pairs.Connect(api, kHost, static_cast<uint16_t>(port), figure.idle_pairs);
  if (!status.ok()) return status;
  if (figure.kind == Kind::kDeath) return MeasureDeath(server, pairs);
  if (figure.kind == Kind::kIdle) return MeasureIdle(duration);
  absl::StatusOr<double> result = MeasureLoad(figure, **end, duration);
  if (!result.ok()) return result;
  if (status = EndPingPong(**end); !status.ok()) return status;
  if (status = server->Stop(); !status.ok()) return status;
  return result;
}

}  // namespace

std::string KindName(Kind kind) {
  for (const auto& [each, name] : kKinds) {
    if (each == kind) return name;
  }
  return "";
}

bool ParseKind(const std::string& name, Kind* kind) {
  for (const auto& [each, known] : kKinds) {
    if (name != known) continue;
    *kind = each;
    return true;
  }
  return false;
}

absl::StatusOr<double> MeasureInOwnProcess(const DeviceFigure& figure, absl::Duration duration,
                                           const std::vector<std::string>& environment) {
  absl::StatusOr<ChildProcess> child = ChildProcess::Start(Arguments(figure, "measure", duration), environment);
  if (!child.ok()) return child.status();
  double value = 0;
  if (!absl::SimpleAtod(child->line(), &value)) {
    return absl::InternalError(absl::StrCat("a measuring process said \"", child->line(), "\", not a figure"));
  }
  if (absl::Status status = child->Stop(); !status.ok()) return status;
  return value;
}

absl::StatusOr<double> Measure(const DeviceFigure& figure, absl::Duration duration) {
  RaiseDescriptorLimit();
  absl::StatusOr<ChildProcess> started = ChildProcess::Start(Arguments(figure, "serve", duration));
  if (!started.ok()) return started.status();
  std::optional<ChildProcess> server(*std::move(started));
  const PinnedThread pinned(ChooseCpus().client);
  return MeasureAgainst(server, figure, duration);
}

absl::Status Serve(const DeviceFigure& figure) {
  RaiseDescriptorLimit();
  const PinnedThread pinned(ChooseCpus().server);
  absl::StatusOr<RawListener> listener = RawListener::Create(soft::SoftApi(), kHost);
  if (!listener.ok()) return listener.status();
  SayLine(absl::StrCat(listener->port()));
  absl::StatusOr<std::unique_ptr<RawEnd>> end = listener->Accept(ShapeOf(figure));
  if (!end.ok()) return end.status();
  IdlePairs pairs(**end);
  if (absl::Status status = pairs.Accept(*listener, figure.idle_pairs); !status.ok()) return status;
  if (figure.kind == Kind::kDeath || figure.kind == Kind::kIdle) {
    WaitForEndOfInput();
    return absl::OkStatus();
  }
  return ServePingPong(**end);
}

}  // namespace verbena::benchmarks
