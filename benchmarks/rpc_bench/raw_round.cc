#include <memory>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "benchmarks/rpc_bench/rounds.h"
#include "benchmarks/yardstick/child_process.h"
#include "benchmarks/yardstick/raw_connect.h"
#include "benchmarks/yardstick/raw_load.h"

namespace verbena::benchmarks {
namespace {

RawShape ShapeOf(const BenchSettings& settings) {
  return {.wait = settings.wait,
          .message_bytes = settings.raw_message_bytes(),
          .ring_areas = static_cast<uint32_t>(settings.in_flight)};
}

absl::Status During(absl::string_view stage, const absl::Status& status) {
  return status.ok() ? status : absl::Status(status.code(), absl::StrCat(stage, ": ", status.message()));
}

absl::StatusOr<RawRound> Measure(RawEnd& end, absl::Duration duration) {
  const absl::StatusOr<LatencyHistogram> ping_pong = RunPingPong(end, duration / 2);
  if (!ping_pong.ok()) return During("raw ping-pong", ping_pong.status());
  const absl::StatusOr<double> gbytes_per_second = RunReadStream(end, duration / 2);
  if (!gbytes_per_second.ok()) return During("raw READ stream", gbytes_per_second.status());
  if (absl::Status status = EndPingPong(end); !status.ok()) return During("end of raw ping-pong", status);
  return RawRound{
      .figures = {.p50_us = ping_pong->PercentileMicroseconds(50), .read_gbytes_per_second = *gbytes_per_second},
      .device = end.device_name()};
}

}  // namespace

absl::StatusOr<RawRound> RunRawRound(const BenchSettings& settings, const std::vector<std::string>& server_arguments) {
  absl::StatusOr<ChildProcess> server = ChildProcess::Start(server_arguments);
  if (!server.ok()) return server.status();
  uint32_t port = 0;
  if (!absl::SimpleAtoi(server->line(), &port)) {
    return absl::InternalError(absl::StrCat("the server process said \"", server->line(), "\", not its port"));
  }
  absl::StatusOr<RawRound> round;
  {
    const PinnedThread pinned(settings.cpus.client);
    absl::StatusOr<std::unique_ptr<RawEnd>> end =
        RawConnect(*settings.api, settings.host, static_cast<uint16_t>(port), ShapeOf(settings));
    if (!end.ok()) return end.status();
    round = Measure(**end, settings.round_duration);
    if (!round.ok()) return round.status();
    if (absl::Status status = server->Stop(); !status.ok()) return status;
  }
  return round;
}

absl::Status ServeRaw(const BenchSettings& settings) {
  const PinnedThread pinned(settings.cpus.server);
  absl::StatusOr<RawListener> listener = RawListener::Create(*settings.api, settings.host);
  if (!listener.ok()) return listener.status();
  SayLine(absl::StrCat(listener->port()));
  absl::StatusOr<std::unique_ptr<RawEnd>> end = listener->Accept(ShapeOf(settings));
  if (!end.ok()) return end.status();
  return During("raw server", ServePingPong(**end));
}

}  // namespace verbena::benchmarks
