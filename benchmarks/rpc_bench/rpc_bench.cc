// Measures unary calls and, in the same run, what the verbs do on the same device when they are used directly.
//
//   rpc_bench --device=soft --payload=64 --wait=busy                  latency, one call in flight
//   rpc_bench --device=soft --attachment=1048576 --wait=busy --json   bandwidth
//   rpc_bench --device=soft --attachment=67108864 --in_flight=1 --wait=event --digest=parts  a handler that works on it
//   rpc_bench --device=soft --rate=100000                             an open loop
//   rpc_bench --device=soft --wait=busy --streaming --in_flight=64    messages of a stream
//   rpc_bench --device=soft --wait=busy --streaming --one_way=server  that go one way
//   rpc_bench --device=soft --wait=busy --caller_drives               no hand-over between threads at the client
//   rpc_bench --device=soft --wait=adaptive --callers --in_flight=16  threads that block
//   rpc_bench --device=soft --wait=busy --coroutines --handler=coroutine  coroutines at both ends
//   rpc_bench --device=soft --wait=adaptive --issuer --in_flight=64   a thread that calls and does not wait
//   rpc_bench --device=soft --wait=busy --beside_attachment=1073741824  a small call behind a large one
//
// What system calls a call takes is not counted here but in benchmarks/call_cost, by callgrind.
//
// The server is another process, this program run again; the two ends are pinned to a core each. Raw and calls take
// turns in short rounds, and medians are reported, because machines are noisy.

#include <cstdlib>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/strings/str_cat.h"
#include "benchmarks/rpc_bench/device_choice.h"
#include "benchmarks/rpc_bench/rounds.h"
#include "benchmarks/yardstick/load_bounds.h"
#include "rpc/wait_policy_flag.h"

ABSL_FLAG(std::string, device, "", "auto, soft, or a device's name. Empty: $VERBENA_DEVICE, else auto.");
ABSL_FLAG(std::string, host, "127.0.0.1", "IPv4 address of the device, to listen on and to connect to.");
ABSL_FLAG(int64_t, payload, -1, "Bytes in the request and in the reply, up to 64 MiB. -1: 64, or 0 with --attachment.");
ABSL_FLAG(int64_t, attachment, 0,
          "Bytes attached to the request, or to each message that goes --one_way, in registered memory.");
ABSL_FLAG(std::string, digest, "none",
          "What the server's handler does with an attachment: none, nothing; whole, sums it up on a thread that may "
          "block, when all of it is there; parts, the same as it comes.");
ABSL_FLAG(std::string, handler, "callback",
          "How the server's handlers are written: callback or coroutine, on the event loop; blocking, on threads that "
          "may block.");
ABSL_FLAG(
    int64_t, in_flight, 0,
    "Calls in flight, over all connections; with --rate at most. 0: 1; 8 with --attachment, READs in any case; 4096 "
    "with --rate.");
ABSL_FLAG(int, connections, 1, "Connections.");
ABSL_FLAG(double, rate, 0,
          "Open loop: so many calls a second, each started when it is due, whatever became of the others, and its "
          "latency counted from there. The client's loop never sleeps then. 0: each call is started by the completion "
          "of another.");
ABSL_FLAG(bool, streaming, false,
          "Messages over one stream, echoed, --in_flight of them on their way, and no calls. With --callers by threads "
          "that block: one writes, one reads; both by one if one message is on its way. With "
          "--coroutines by two of them, of one thread.");
ABSL_FLAG(
    std::string, one_way, "",
    "With --streaming: client or server, who alone sends messages, as many as the stream's window lets, which the "
    "other drops.");
ABSL_FLAG(
    bool, caller_drives, false,
    "Blocking calls of one thread that drives the client's loop; and, for comparison, of one while the loop has a "
    "thread of its own.");
ABSL_FLAG(
    bool, callers, false,
    "Blocking calls of --in_flight threads, each one after the other, while the client's loop has a thread of its "
    "own.");
ABSL_FLAG(bool, coroutines, false,
          "Calls of --in_flight coroutines, each one after the other, of one thread that drives the client's loop.");
ABSL_FLAG(
    bool, issuer, false,
    "Asynchronous calls of one thread, --in_flight of them under way, while the client's loop has a thread of its own "
    "on the same core.");
ABSL_FLAG(int64_t, beside_attachment, 0,
          "Measure beside a call with so many bytes attached, on the same connection, one after the other; and, for "
          "comparison, without.");
ABSL_FLAG(bool, beside_response, false, "The bytes of --beside_attachment are attached to the responses.");
ABSL_FLAG(double, seconds, 5, "How long to measure calls; raw verbs are measured for as long again.");
ABSL_FLAG(int, rounds, 5, "Into how many rounds to divide that.");
ABSL_FLAG(verbena::WaitPolicy, wait, verbena::WaitPolicy::kAdaptive, "How both ends wait: busy, event or adaptive.");
ABSL_FLAG(bool, json, false, "Print one line of JSON.");
ABSL_FLAG(std::string, role, "", "For the program itself: what its other process is.");

namespace verbena::benchmarks {
namespace {

constexpr int64_t kAttachmentBytesMax = int64_t{1} << 30;
constexpr double kRateMax = 1e7;

// Nothing: flags ask for two kinds at once.
std::optional<Load> LoadFromFlags() {
  std::vector<Load> asked;
  const bool streaming = absl::GetFlag(FLAGS_streaming);
  const bool callers = absl::GetFlag(FLAGS_callers);
  const bool coroutines = absl::GetFlag(FLAGS_coroutines);
  if (streaming && callers) asked.push_back(Load::kBlockingStream);
  if (streaming && coroutines) asked.push_back(Load::kCoroutineStream);
  if (absl::GetFlag(FLAGS_rate) > 0) asked.push_back(Load::kOpenLoop);
  if (streaming && !callers && !coroutines) asked.push_back(Load::kStream);
  if (absl::GetFlag(FLAGS_caller_drives)) asked.push_back(Load::kCallerDrives);
  if (callers && !streaming) asked.push_back(Load::kCallers);
  if (coroutines && !streaming) asked.push_back(Load::kCoroutines);
  if (absl::GetFlag(FLAGS_issuer)) asked.push_back(Load::kIssuer);
  if (absl::GetFlag(FLAGS_beside_attachment) > 0) asked.push_back(Load::kBeside);
  if (asked.size() > 1) return std::nullopt;
  return asked.empty() ? Load::kClosedLoop : asked.front();
}

// Nothing: messages are echoed, or what was asked for is neither.
std::optional<Sender> SenderFromFlags() {
  const std::string name = absl::GetFlag(FLAGS_one_way);
  if (name == "client") return Sender::kClient;
  if (name == "server") return Sender::kServer;
  return std::nullopt;
}

std::optional<Handler> HandlerFromFlags() {
  const std::string name = absl::GetFlag(FLAGS_handler);
  if (name == "callback") return Handler::kCallback;
  if (name == "blocking") return Handler::kBlocking;
  if (name == "coroutine") return Handler::kCoroutine;
  return std::nullopt;
}

std::optional<Digest> DigestFromFlags() {
  const std::string name = absl::GetFlag(FLAGS_digest);
  if (name == "none") return Digest::kNone;
  if (name == "whole") return Digest::kWhole;
  if (name == "parts") return Digest::kParts;
  return std::nullopt;
}

absl::Status CheckFlags() {
  const auto check = [](bool good, absl::string_view words) {
    return good ? absl::OkStatus() : absl::InvalidArgumentError(words);
  };
  absl::Status status;
  if (absl::GetFlag(FLAGS_payload) != -1) {
    status.Update(CheckBounds("payload", absl::GetFlag(FLAGS_payload), 0, kPayloadBytesMax));
  }
  status.Update(CheckBounds("attachment", absl::GetFlag(FLAGS_attachment), 0, kAttachmentBytesMax));
  status.Update(CheckBounds("in_flight", absl::GetFlag(FLAGS_in_flight), 0, kInFlightMax));
  status.Update(check(absl::GetFlag(FLAGS_rate) >= 0 && absl::GetFlag(FLAGS_rate) <= kRateMax,
                      absl::StrCat("--rate must be 0 to ", kRateMax)));
  const int64_t beside = absl::GetFlag(FLAGS_beside_attachment);
  status.Update(CheckBounds("beside_attachment", beside, 0, kAttachmentBytesMax));
  status.Update(check(beside > 0 || !absl::GetFlag(FLAGS_beside_response),
                      "--beside_response says where the --beside_attachment is"));
  status.Update(check(LoadFromFlags().has_value(),
                      "of --rate, --streaming, --caller_drives, --callers, --coroutines, --issuer and "
                      "--beside_attachment only one can be measured, or --streaming with --callers or --coroutines"));
  status.Update(check(
      !absl::GetFlag(FLAGS_streaming) || !absl::GetFlag(FLAGS_one_way).empty() || absl::GetFlag(FLAGS_attachment) == 0,
      "--streaming has an --attachment only --one_way"));
  if (!absl::GetFlag(FLAGS_one_way).empty()) {
    status.Update(check(SenderFromFlags().has_value(), "--one_way must be client or server"));
    status.Update(check(absl::GetFlag(FLAGS_streaming), "--one_way is of --streaming"));
    const bool asked = absl::GetFlag(FLAGS_role).empty();  // Not by the other process, which is told what was decided.
    status.Update(
        check(!asked || absl::GetFlag(FLAGS_in_flight) <= 1, "--one_way has as many in flight as the window lets"));
  }
  status.Update(check(!absl::GetFlag(FLAGS_caller_drives) || absl::GetFlag(FLAGS_in_flight) <= 1,
                      "--caller_drives has one call in flight"));
  status.Update(check(!absl::GetFlag(FLAGS_callers) || absl::GetFlag(FLAGS_in_flight) <= int64_t{kCallersMax},
                      absl::StrCat("--callers are at most ", kCallersMax)));
  status.Update(check(DigestFromFlags().has_value(), "--digest must be none, whole or parts"));
  status.Update(check(DigestFromFlags() == Digest::kNone || absl::GetFlag(FLAGS_attachment) > 0,
                      "--digest is of an --attachment"));
  status.Update(check(HandlerFromFlags().has_value(), "--handler must be callback, blocking or coroutine"));
  status.Update(check(HandlerFromFlags() == Handler::kCallback ||
                          (absl::GetFlag(FLAGS_digest) == "none" && !absl::GetFlag(FLAGS_beside_response)),
                      "a --handler but callback echoes what comes"));
  status.Update(CheckBounds("connections", absl::GetFlag(FLAGS_connections), 1, kConnectionsMax));
  status.Update(check(!absl::GetFlag(FLAGS_streaming) || absl::GetFlag(FLAGS_connections) == 1,
                      "--streaming is over one connection"));
  status.Update(CheckSeconds(absl::GetFlag(FLAGS_seconds)));
  const int rounds = absl::GetFlag(FLAGS_rounds);
  status.Update(check(rounds >= 1, "--rounds must be at least 1"));
  const double rate = absl::GetFlag(FLAGS_rate);
  status.Update(check(rate == 0 || rate * absl::GetFlag(FLAGS_seconds) >= rounds,
                      "--rate has less than one call due in each of the --rounds that --seconds is divided into"));
  return status;
}

size_t DefaultInFlight(const BenchSettings& settings) {
  switch (settings.load) {
    case Load::kClosedLoop:
    case Load::kStream:
    case Load::kBlockingStream:
    case Load::kCoroutineStream:
      return settings.attachment_bytes > 0 ? 8 : 1;
    case Load::kOpenLoop:
      return 4096;
    case Load::kCallerDrives:
    case Load::kCallers:
    case Load::kCoroutines:
    case Load::kIssuer:
    case Load::kBeside:
      break;
  }
  return 1;
}

absl::StatusOr<BenchSettings> SettingsFromFlags() {
  if (absl::Status status = CheckFlags(); !status.ok()) return status;
  absl::StatusOr<DeviceChoice> device = ChooseDevice(absl::GetFlag(FLAGS_device));
  if (!device.ok()) return device.status();
  BenchSettings settings;
  settings.api = device->api;
  settings.device = device->name;
  settings.host = absl::GetFlag(FLAGS_host);
  settings.wait = absl::GetFlag(FLAGS_wait);
  settings.attachment_bytes = absl::GetFlag(FLAGS_attachment);
  settings.digest = *DigestFromFlags();
  settings.handler = *HandlerFromFlags();
  const bool attachment = settings.attachment_bytes > 0;
  const int64_t payload = absl::GetFlag(FLAGS_payload);
  settings.payload_bytes = payload >= 0 ? payload : (attachment ? 0 : 64);
  settings.load = *LoadFromFlags();
  settings.one_way = SenderFromFlags();
  settings.rate = absl::GetFlag(FLAGS_rate);
  settings.beside_attachment_bytes = absl::GetFlag(FLAGS_beside_attachment);
  settings.beside_in_response = absl::GetFlag(FLAGS_beside_response);
  const int64_t in_flight = absl::GetFlag(FLAGS_in_flight);
  settings.in_flight = in_flight > 0 ? in_flight : DefaultInFlight(settings);
  settings.connections = absl::GetFlag(FLAGS_connections);
  settings.round_duration = absl::Seconds(absl::GetFlag(FLAGS_seconds)) / absl::GetFlag(FLAGS_rounds);
  settings.cpus = ChooseCpus();
  if (absl::Status status = CheckMemory(settings.in_flight, settings.raw_message_bytes()); !status.ok()) return status;
  return settings;
}

// What the other process is run with: the same settings, with what was left open decided.
std::vector<std::string> ServerArguments(const BenchSettings& settings, absl::string_view role) {
  return {absl::StrCat("--role=", role),
          absl::StrCat("--device=", settings.device),
          absl::StrCat("--host=", settings.host),
          absl::StrCat("--payload=", settings.payload_bytes),
          absl::StrCat("--attachment=", settings.attachment_bytes),
          absl::StrCat("--digest=", absl::GetFlag(FLAGS_digest)),
          absl::StrCat("--handler=", absl::GetFlag(FLAGS_handler)),
          absl::StrCat("--streaming=", absl::GetFlag(FLAGS_streaming)),
          absl::StrCat("--one_way=", absl::GetFlag(FLAGS_one_way)),
          absl::StrCat("--beside_attachment=", settings.beside_attachment_bytes),
          absl::StrCat("--beside_response=", settings.beside_in_response),
          absl::StrCat("--in_flight=", settings.in_flight),
          absl::StrCat("--wait=", AbslUnparseFlag(settings.wait))};
}

absl::StatusOr<Report> RunRounds(const BenchSettings& settings) {
  std::vector<CallFigures> calls;
  std::vector<RawFigures> raw;
  std::string device;
  for (int i = 0; i < absl::GetFlag(FLAGS_rounds); ++i) {
    absl::StatusOr<RawRound> raw_round = RunRawRound(settings, ServerArguments(settings, "raw"));
    if (!raw_round.ok()) return raw_round.status();
    raw.push_back(raw_round->figures);
    device = raw_round->device;
    absl::StatusOr<CallFigures> call_round = RunCallRound(settings, ServerArguments(settings, "calls"));
    if (!call_round.ok()) return call_round.status();
    calls.push_back(*call_round);
  }
  return MakeReport({.device = device,
                     .wait = AbslUnparseFlag(settings.wait),
                     .load = LoadOf(settings),
                     .payload_bytes = settings.payload_bytes + settings.attachment_bytes,
                     .attachment = settings.attachment_bytes > 0,
                     .in_flight = settings.in_flight,
                     .connections = static_cast<uint64_t>(settings.connections),
                     .rate = settings.rate},
                    calls, raw);
}

absl::Status Run() {
  const absl::StatusOr<BenchSettings> settings = SettingsFromFlags();
  if (!settings.ok()) return settings.status();
  const std::string role = absl::GetFlag(FLAGS_role);
  if (role == "raw") return ServeRaw(*settings);
  if (role == "calls") return ServeCalls(*settings);
  if (!role.empty()) return absl::InvalidArgumentError(absl::StrCat("--role=", role, " is unknown"));

  const absl::StatusOr<Report> report = RunRounds(*settings);
  if (!report.ok()) return report.status();
  std::cout << (absl::GetFlag(FLAGS_json) ? ToJson(*report) : ToText(*report)) << std::endl;
  return absl::OkStatus();
}

}  // namespace
}  // namespace verbena::benchmarks

int main(int argc, char** argv) {
  absl::SetProgramUsageMessage("Measures unary calls beside raw verbs on the same device.");
  if (absl::ParseCommandLine(argc, argv).size() > 1) {
    std::cerr << "rpc_bench: takes flags alone; see --help\n";
    return 2;
  }
  if (absl::Status status = verbena::benchmarks::Run(); !status.ok()) {
    std::cerr << absl::StrCat("rpc_bench: ", status.ToString(), "\n");
    return 1;
  }
  return 0;
}
