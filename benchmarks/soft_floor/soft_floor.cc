// Measures the software device and, in the same run, what the machine itself can do: prints one table.
//
//   soft_floor                 every row, several rounds; the exit status is 0 whether budgets are met or not
//   soft_floor --rows=TCP      rows whose words contain "TCP"
//
// Two processes pinned to two cores. A budget is a ratio of two figures of one round, judged by its median over the
// rounds, because machines are noisy. Rounds are short and many: the cores of a virtual machine may be near each other
// or far apart, which changes every figure of busy ends by up to nine times, and it may change any second.

#include <functional>
#include <iostream>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "benchmarks/soft_floor/device_figure.h"
#include "benchmarks/soft_floor/physical_floors.h"
#include "benchmarks/soft_floor/table.h"
#include "benchmarks/yardstick/child_process.h"
#include "benchmarks/yardstick/cpu_pinning.h"
#include "benchmarks/yardstick/load_bounds.h"

ABSL_FLAG(double, seconds, 0.3, "How long each figure is measured in each round.");
ABSL_FLAG(int, rounds, 9, "How often; medians are reported.");
ABSL_FLAG(std::string, rows, "", "Only rows whose words contain this.");
ABSL_FLAG(bool, json, false, "Print one line of JSON.");
ABSL_FLAG(std::string, role, "", "For the program itself: measure or serve.");
ABSL_FLAG(std::string, kind, "ping_pong", "For the program itself: what is measured.");
ABSL_FLAG(bool, busy, true, "For the program itself: how the ends wait.");
ABSL_FLAG(uint32_t, idle_pairs, 0, "For the program itself: connections beside the measured one.");

namespace verbena::benchmarks {
namespace {

constexpr uint32_t kManyPairs = 400;
constexpr auto kEvent = transport::WaitPolicy::kEvent;

using Source = std::function<absl::StatusOr<double>()>;

struct MeasuredRow {
  Row row;
  Source figure;
  Source floor;  // Null: none.
};

absl::Duration Seconds() { return absl::Seconds(absl::GetFlag(FLAGS_seconds)); }

Source OnDevice(const DeviceFigure& figure, std::vector<std::string> environment = {}) {
  return [=] { return MeasureInOwnProcess(figure, Seconds(), environment); };
}

std::vector<MeasuredRow> AllRows() {
  using Kind = DeviceFigure::Kind;
  using Budget = Row::Budget;
  const CpuPair cpus = ChooseCpus();
  const auto flag = [cpus] { return FlagRoundTrip(cpus, Seconds()); };
  const auto unix_socket = [cpus] { return UnixRoundTrip(cpus, Waiting::kSleeping, Seconds()); };
  const auto readv = [cpus] { return ReadvBandwidth(cpus, kReadBytes, kReadAreas, Seconds()); };
  const auto tcp = [cpus](Waiting waiting) { return [=] { return TcpRoundTrip(cpus, waiting, Seconds()); }; };
  const DeviceFigure busy = {};
  const DeviceFigure event = {.wait = kEvent};
  const DeviceFigure read = {.kind = Kind::kReadStream};
  const std::vector<std::string> over_tcp = {"VERBENA_SOFT_FABRIC=tcp"};
  return {
      {{"64 B SEND round trip, busy", "us", "flag in shared memory", Budget::kAtMost, 4.5}, OnDevice(busy), flag},
      {{"64 B SEND round trip, events", "us", "Unix socket, blocking", Budget::kAtMost, 1.5},
       OnDevice(event),
       unix_socket},
      {{"64 B SEND round trip, busy, 400 idle queue pairs", "us", "with one", Budget::kAtMost, 1.6},
       OnDevice({.idle_pairs = kManyPairs}),
       OnDevice(busy)},
      {{"1 MiB READ stream, direct", "GB/s", "process_vm_readv", Budget::kAtLeast, 0.95},
       OnDevice(read, {"VERBENA_SOFT_ONE_SIDED=direct"}),
       readv},
      {{"1 MiB READ stream, by the responder", "GB/s", "process_vm_readv", Budget::kAtLeast, 0.6},
       OnDevice(read, {"VERBENA_SOFT_ONE_SIDED=responder"}),
       readv},
      {{"64 B request and response, 32 in flight", "/s", "", Budget::kAtLeast, 2e6},
       OnDevice({.kind = Kind::kPipelined}),
       nullptr},
      {{"TCP: 64 B round trip, busy", "us", "TCP, spinning", Budget::kAtMost, 2},
       OnDevice(busy, over_tcp),
       tcp(Waiting::kSpinning)},
      {{"TCP: 64 B round trip, events", "us", "TCP, blocking", Budget::kAtMost, 2},
       OnDevice(event, over_tcp),
       tcp(Waiting::kSleeping)},
      {{"kill -9 to DISCONNECTED, 400 connections", "ms", "", Budget::kAtMost, 100},
       OnDevice({.kind = Kind::kDeath, .wait = kEvent, .idle_pairs = kManyPairs}),
       nullptr},
      {{"processor of an idle process, 400 connections", "%", "", Budget::kAtMost, 1},
       OnDevice({.kind = Kind::kIdle, .wait = kEvent, .idle_pairs = kManyPairs}),
       nullptr},
  };
}

absl::Status MeasureRound(MeasuredRow& row) {
  absl::StatusOr<double> floor = row.floor != nullptr ? row.floor() : absl::StatusOr<double>(0);
  if (!floor.ok()) return floor.status();
  absl::StatusOr<double> figure = row.figure();
  if (!figure.ok()) return figure.status();
  if (row.floor != nullptr) row.row.floors.push_back(*floor);
  row.row.figures.push_back(*figure);
  return absl::OkStatus();
}

absl::Status PrintTable() {
  std::vector<MeasuredRow> rows = AllRows();
  std::erase_if(rows,
                [](const MeasuredRow& each) { return !absl::StrContains(each.row.what, absl::GetFlag(FLAGS_rows)); });
  if (rows.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("no row's words contain --rows=", absl::GetFlag(FLAGS_rows)));
  }
  for (int round = 0; round < absl::GetFlag(FLAGS_rounds); ++round) {
    for (MeasuredRow& each : rows) {
      if (absl::Status status = MeasureRound(each); !status.ok()) {
        return absl::Status(status.code(), absl::StrCat(each.row.what, ": ", status.message()));
      }
    }
  }
  std::vector<Row> table;
  for (MeasuredRow& each : rows) table.push_back(std::move(each.row));
  std::cout << (absl::GetFlag(FLAGS_json) ? ToJson(table) : ToText(table)) << std::endl;
  return absl::OkStatus();
}

absl::Status Run() {
  if (absl::Status status = CheckSeconds(absl::GetFlag(FLAGS_seconds)); !status.ok()) return status;
  if (absl::GetFlag(FLAGS_rounds) < 1) return absl::InvalidArgumentError("--rounds must be at least 1");
  const std::string role = absl::GetFlag(FLAGS_role);
  if (role.empty()) return PrintTable();
  DeviceFigure figure = {.wait = absl::GetFlag(FLAGS_busy) ? transport::WaitPolicy::kBusy : kEvent,
                         .idle_pairs = absl::GetFlag(FLAGS_idle_pairs)};
  if (!ParseKind(absl::GetFlag(FLAGS_kind), &figure.kind)) return absl::InvalidArgumentError("--kind is unknown");
  if (role == "serve") return Serve(figure);
  if (role != "measure") return absl::InvalidArgumentError("--role is unknown");
  absl::StatusOr<double> value = Measure(figure, Seconds());
  if (!value.ok()) return value.status();
  SayLine(absl::StrCat(*value));
  return absl::OkStatus();
}

}  // namespace
}  // namespace verbena::benchmarks

int main(int argc, char** argv) {
  absl::SetProgramUsageMessage("Measures the software device beside what the machine itself can do.");
  if (absl::ParseCommandLine(argc, argv).size() > 1) {
    std::cerr << "soft_floor: takes flags alone; see --help\n";
    return 2;
  }
  if (absl::Status status = verbena::benchmarks::Run(); !status.ok()) {
    std::cerr << absl::StrCat("soft_floor: ", status.ToString(), "\n");
    return 1;
  }
  return 0;
}
