// The `verbena` command.
//
//   verbena check-server --listen=rdma://10.0.0.1:7471        on the one host
//   verbena check rdma://10.0.0.1:7471                        on the other

#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "absl/flags/declare.h"
#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/status/statusor.h"
#include "examples/daemon/run_daemon.h"
#include "rpc/channel.h"
#include "tools/verbena/check.h"
#include "tools/verbena/check_service.h"

ABSL_DECLARE_FLAG(std::string, device);  // The daemon's; here the client's as well.

namespace {

constexpr int kExitOk = 0;
constexpr int kExitFailed = 1;
constexpr int kExitUsage = 2;

constexpr char kUsage[] =
    "Tells whether Verbena works on this network.\n\n"
    "  verbena check-server [--listen=ADDRESS] [--device=NAME]   serves calls until SIGTERM or SIGINT\n"
    "  verbena check ADDRESS [--device=NAME]                     calls it in every way, and says how that went\n\n"
    "ADDRESS is rdma://host:port, soft://host:port or host:port. Exits with 0 only if all went well.";

int CheckServer(verbena::examples::TerminationSignals& signals) {
  verbena::tools::CheckService service;
  return verbena::examples::RunDaemon("verbena", {&service}, signals);
}

int Check(const std::string& address) {
  verbena::ChannelOptions options;
  options.transport.device = absl::GetFlag(FLAGS_device);
  absl::StatusOr<std::shared_ptr<verbena::Channel>> channel = verbena::Channel::Create(address, options);
  if (!channel.ok()) {
    std::cerr << "verbena: " << channel.status() << std::endl;
    return kExitFailed;
  }
  return verbena::tools::RunCheck(*std::move(channel), std::cout) ? kExitOk : kExitFailed;
}

}  // namespace

int main(int argc, char** argv) {
  absl::SetProgramUsageMessage(kUsage);
  const std::vector<char*> arguments = absl::ParseCommandLine(argc, argv);
  const std::string command = arguments.size() > 1 ? arguments[1] : "";
  if (command == "check-server" && arguments.size() == 2) {
    verbena::examples::TerminationSignals signals;
    return CheckServer(signals);
  }
  if (command == "check" && arguments.size() == 3) return Check(arguments[2]);
  std::cerr << kUsage << std::endl;
  return kExitUsage;
}
