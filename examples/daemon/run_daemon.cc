#include "examples/daemon/run_daemon.h"

#include <iostream>
#include <memory>
#include <string>

#include "absl/flags/flag.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "rpc/server.h"
#include "rpc/wait_policy_flag.h"

ABSL_FLAG(
    std::vector<std::string>, listen, {"127.0.0.1:7471"},
    "Addresses to listen on, separated by commas: host:port, rdma://host:port or soft://host:port. Port 0 = any.");
ABSL_FLAG(std::string, device, "",
          "Device to use: auto, soft, or a device's name (mlx5_0). Empty: $VERBENA_DEVICE, else auto.");
ABSL_FLAG(verbena::WaitPolicy, wait, verbena::WaitPolicy::kAdaptive,
          "How event loops wait for work: busy, event or adaptive.");
ABSL_FLAG(int, loops, 1, "Event loops, a thread each.");
ABSL_FLAG(double, drain_seconds, 30, "After a signal to stop, how long calls in flight may take to finish.");

namespace verbena::examples {
namespace {

// One write for a line, so that lines of several processes in one log stay whole.
void Log(absl::string_view name, absl::string_view text) { std::cerr << absl::StrCat(name, ": ", text, "\n"); }

absl::StatusOr<std::unique_ptr<Server>> StartServer(const std::vector<Service*>& services) {
  ServerOptions options;
  options.transport.device = absl::GetFlag(FLAGS_device);
  options.wait = absl::GetFlag(FLAGS_wait);
  options.loops = absl::GetFlag(FLAGS_loops);

  Server::Builder builder;
  builder.SetOptions(options);
  for (const std::string& address : absl::GetFlag(FLAGS_listen)) builder.AddListeningAddress(address);
  for (Service* service : services) builder.RegisterService(service);
  return builder.Build();
}

}  // namespace

int RunDaemon(absl::string_view name, const std::vector<Service*>& services, TerminationSignals& signals) {
  absl::StatusOr<std::unique_ptr<Server>> server = StartServer(services);
  if (!server.ok()) {
    Log(name, absl::StrCat("cannot start: ", server.status().ToString()));
    return 1;
  }
  for (const std::string& address : (*server)->addresses()) Log(name, absl::StrCat("listening on ", address));

  const char* signal = signals.Wait();
  const ServerCounters counters = (*server)->counters();
  Log(name, absl::StrCat(signal, ": draining ", counters.calls_in_flight, " calls on ", counters.connections,
                         " connections"));
  (*server)->Shutdown(absl::Seconds(absl::GetFlag(FLAGS_drain_seconds)));
  Log(name, absl::StrCat("stopped after ", (*server)->counters().calls_accepted, " calls"));
  return 0;
}

}  // namespace verbena::examples
