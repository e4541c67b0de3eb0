// Measures messages there and back by SEND on the software device, as rpc_bench measures calls: both ends busy-poll.
//
//   raw_bench --payload=64 --in_flight=1 [--pinned] [--seconds=2]

#include <algorithm>
#include <memory>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "benchmarks/yardstick/child_process.h"
#include "benchmarks/yardstick/peer_bench.h"
#include "benchmarks/yardstick/raw_connect.h"
#include "benchmarks/yardstick/raw_load.h"
#include "transport/soft/soft_api.h"

namespace verbena::benchmarks {
namespace {

constexpr char kHost[] = "127.0.0.1";

RawShape RawShapeOf(const LoadShape& shape) {
  const auto in_flight = static_cast<uint32_t>(shape.in_flight);
  return {.message_bytes = std::max<size_t>(shape.payload_bytes, 1), .receives = in_flight + 1, .sends = in_flight};
}

absl::Status Serve(const std::string&, const LoadShape& shape) {
  absl::StatusOr<RawListener> listener = RawListener::Create(soft::SoftApi(), kHost);
  if (!listener.ok()) return listener.status();
  SayLine(absl::StrCat(listener->port()));
  absl::StatusOr<std::unique_ptr<RawEnd>> end = listener->Accept(RawShapeOf(shape));
  if (!end.ok()) return end.status();
  return ServePingPong(**end);
}

absl::StatusOr<LoadFigures> Measure(const std::string& address, const LoadShape& shape) {
  uint32_t port = 0;
  if (!absl::SimpleAtoi(address, &port)) {
    return absl::InternalError(absl::StrCat("the other process said \"", address, "\", not its port"));
  }
  absl::StatusOr<std::unique_ptr<RawEnd>> end =
      RawConnect(soft::SoftApi(), kHost, static_cast<uint16_t>(port), RawShapeOf(shape));
  if (!end.ok()) return end.status();
  absl::StatusOr<LoadFigures> figures = RunRoundTrips(**end, shape);
  if (!figures.ok()) return figures;
  if (absl::Status status = EndPingPong(**end); !status.ok()) return status;
  return figures;
}

}  // namespace
}  // namespace verbena::benchmarks

int main(int argc, char** argv) {
  using namespace verbena::benchmarks;
  return RunPeerBench({.name = "raw_bench", .transports = {"soft"}, .serve = Serve, .measure = Measure}, argc, argv);
}
