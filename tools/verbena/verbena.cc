// The `verbena` command.
//
//   verbena check-server --listen=rdma://10.0.0.1:7471        on the one host
//   verbena check rdma://10.0.0.1:7471                        on the other
//   verbena call rdma://10.0.0.1:7471 demo.Greeter/SayHello '{"name": "you"}'

#include <algorithm>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "absl/flags/declare.h"
#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "examples/daemon/run_daemon.h"
#include "rpc/channel.h"
#include "rpc/health/health_service.h"
#include "rpc/options.h"
#include "rpc/reflection/reflection_service.h"
#include "tools/verbena/call.h"
#include "tools/verbena/check.h"
#include "tools/verbena/check_service.h"
#include "tools/verbena/describe.h"
#include "tools/verbena/health.h"
#include "tools/verbena/list.h"
#include "tools/verbena/server_schema.h"

ABSL_DECLARE_FLAG(std::string, device);  // The daemon's; here the client's as well.
ABSL_FLAG(double, timeout_seconds, 10, "How long each call may take; not of check.");
ABSL_FLAG(std::vector<std::string>, metadata, {}, "Of call: key:value, separated by commas.");

namespace {

using verbena::Channel;
using verbena::tools::ServerSchema;

constexpr int kExitOk = 0;
constexpr int kExitFailed = 1;
constexpr int kExitUsage = 2;

constexpr char kUsage[] =
    "Tells whether Verbena works on this network, and what a server is and does.\n\n"
    "  verbena check-server [--listen=ADDRESS]        serves calls until SIGTERM or SIGINT\n"
    "  verbena check ADDRESS                          calls it in every way, and says how that went\n"
    "  verbena health ADDRESS [SERVICE]               whether the server, or one service, takes calls\n"
    "  verbena list ADDRESS [SERVICE]                 the server's services, or one's methods\n"
    "  verbena describe ADDRESS SYMBOL                a service, message, enum … as .proto text\n"
    "  verbena call ADDRESS METHOD JSON               calls package.Service/Method; the reply as JSON\n"
    "      [--metadata=KEY:VALUE,…]\n\n"
    "ADDRESS is rdma://host:port, soft://host:port or host:port. All take --device=NAME, and all but check\n"
    "--timeout_seconds=N. health asks the server's health service, list, describe and call its reflection.\n"
    "Exits with 0 only if all went well.";

// What follows the command's name.
using Arguments = std::vector<std::string>;

std::string Optional(const Arguments& arguments, size_t index) {
  return index < arguments.size() ? arguments[index] : "";
}

absl::Duration Timeout() { return absl::Seconds(absl::GetFlag(FLAGS_timeout_seconds)); }

int CheckServer() {
  verbena::examples::TerminationSignals signals;
  verbena::tools::CheckService check;
  verbena::HealthService health;
  health.SetServingStatus(check.full_name(), verbena::HealthService::Status::SERVING);
  verbena::ReflectionService reflection;
  return verbena::examples::RunDaemon("verbena", {&check, &health, &reflection}, signals);
}

absl::Status Check(const std::shared_ptr<Channel>& channel, const Arguments&) {
  return verbena::tools::RunCheck(channel, std::cout) ? absl::OkStatus() : absl::InternalError("the check failed");
}

absl::Status Health(const std::shared_ptr<Channel>& channel, const Arguments& arguments) {
  return verbena::tools::RunHealth(channel, Optional(arguments, 1), Timeout(), std::cout);
}

absl::Status List(const std::shared_ptr<Channel>& channel, const Arguments& arguments) {
  ServerSchema schema(channel, Timeout());
  return verbena::tools::RunList(schema, Optional(arguments, 1), std::cout);
}

absl::Status Describe(const std::shared_ptr<Channel>& channel, const Arguments& arguments) {
  ServerSchema schema(channel, Timeout());
  return verbena::tools::RunDescribe(schema, arguments[1], std::cout);
}

absl::Status Call(const std::shared_ptr<Channel>& channel, const Arguments& arguments) {
  ServerSchema schema(channel, Timeout());
  const verbena::tools::CallOptions options{Timeout(), absl::GetFlag(FLAGS_metadata)};
  return verbena::tools::RunCall(*channel, schema, arguments[1], arguments[2], options, std::cout);
}

// What is done with a server.
struct Command {
  const char* name;
  size_t arguments_min, arguments_max;  // The address is one of them, the first.
  absl::Status (*run)(const std::shared_ptr<Channel>&, const Arguments&);
};

constexpr Command kCommands[] = {
    {"check", 1, 1, Check},       {"health", 1, 2, Health}, {"list", 1, 2, List},
    {"describe", 2, 2, Describe}, {"call", 3, 3, Call},
};

absl::Status Run(const Command& command, const Arguments& arguments) {
  verbena::ChannelOptions options;
  options.transport.device = absl::GetFlag(FLAGS_device);
  const absl::StatusOr<std::shared_ptr<Channel>> channel = Channel::Create(arguments.front(), options);
  if (!channel.ok()) return channel.status();
  // A channel would try again until calls have waited long enough: a device may come back.
  if (absl::Status checked = verbena::CheckDevice(arguments.front(), options.transport); !checked.ok()) return checked;
  absl::Status status = command.run(*channel, arguments);
  // What was printed may not have arrived: the disk is full.
  if (!std::cout.flush()) status.Update(absl::DataLossError("standard output cannot be written"));
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  absl::SetProgramUsageMessage(kUsage);
  const std::vector<char*> words = absl::ParseCommandLine(argc, argv);
  const std::string name = words.size() > 1 ? words[1] : "";
  const Arguments arguments(words.begin() + std::min<size_t>(words.size(), 2), words.end());
  if (name == "check-server" && arguments.empty()) return CheckServer();
  for (const Command& command : kCommands) {
    if (name != command.name) continue;
    if (arguments.size() < command.arguments_min || arguments.size() > command.arguments_max) break;
    const absl::Status status = Run(command, arguments);
    if (status.ok()) return kExitOk;
    std::cerr << absl::StrCat("verbena: ", status.ToString(), "\n");
    return kExitFailed;
  }
  std::cerr << absl::StrCat(kUsage, "\n");
  return kExitUsage;
}
