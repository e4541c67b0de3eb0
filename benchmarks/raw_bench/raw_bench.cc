// Measures messages there and back by SEND on the software device, as rpc_bench measures calls.
//
//   raw_bench --payload=64 --in_flight=1 [--connections=1] [--wait=busy|event|adaptive] [--pinned] [--seconds=2]

#include <memory>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "benchmarks/yardstick/child_process.h"
#include "benchmarks/yardstick/peer_bench.h"
#include "benchmarks/yardstick/raw_connect.h"
#include "benchmarks/yardstick/raw_ends.h"
#include "rpc/wait_policy_flag.h"
#include "transport/soft/soft_api.h"

ABSL_FLAG(verbena::transport::WaitPolicy, wait, verbena::transport::WaitPolicy::kBusy,
          "How both ends wait: busy, event or adaptive.");

namespace verbena::benchmarks {
namespace {

constexpr char kHost[] = "127.0.0.1";

absl::Status Serve(const std::string&, const LoadShape& shape) {
  absl::StatusOr<RawListener> listener = RawListener::Create(soft::SoftApi(), kHost);
  if (!listener.ok()) return listener.status();
  SayLine(absl::StrCat(listener->port()));
  const absl::StatusOr<std::unique_ptr<RawEnds>> ends = RawEnds::Accept(*listener, absl::GetFlag(FLAGS_wait), shape);
  if (!ends.ok()) return ends.status();
  return (*ends)->Serve();
}

absl::StatusOr<LoadFigures> Measure(const std::string& address, const LoadShape& shape) {
  uint32_t port = 0;
  if (!absl::SimpleAtoi(address, &port)) {
    return absl::InternalError(absl::StrCat("the other process said \"", address, "\", not its port"));
  }
  const absl::StatusOr<std::unique_ptr<RawEnds>> ends =
      RawEnds::Connect(soft::SoftApi(), kHost, static_cast<uint16_t>(port), absl::GetFlag(FLAGS_wait), shape);
  if (!ends.ok()) return ends.status();
  return (*ends)->RunRoundTrips();
}

}  // namespace
}  // namespace verbena::benchmarks

int main(int argc, char** argv) {
  using namespace verbena::benchmarks;
  return RunPeerBench(
      {.name = "raw_bench",
       .transports = {"soft"},
       .own_flags = [] { return std::vector{absl::StrCat("--wait=", AbslUnparseFlag(absl::GetFlag(FLAGS_wait)))}; },
       .serve = Serve,
       .measure = Measure},
      argc, argv);
}
