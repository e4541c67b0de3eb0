// A server of the chaos test. Prints "listening ADDRESS" when it serves; drains and ends with 0 at SIGTERM; ends with
// its parent.
//
//   chaos_server ADDRESS LEDGER blocking|reacting|coroutine

#include <signal.h>
#include <sys/prctl.h>

#include <cstdio>
#include <string>

#include "rpc/server.h"
#include "tests/chaos/chaos_service.h"
#include "tests/chaos/termination.h"

namespace verbena::chaos {
namespace {

constexpr absl::Duration kGrace = absl::Seconds(60);  // More than any call has.

std::unique_ptr<Service> MakeService(const std::string& form, LedgerWriter* ledger) {
  if (form == "blocking") return MakeBlockingService(ledger);
  if (form == "reacting") return MakeReactingService(ledger);
  return MakeCoroutineService(ledger);
}

int Serve(const char* address, const char* path, const char* form) {
  const Termination termination;
  LedgerWriter ledger(path);
  const std::unique_ptr<Service> service = MakeService(form, &ledger);
  ServerOptions options;
  options.transport.keepalive_interval = absl::Seconds(1);
  options.transport.keepalive_timeout = absl::Seconds(2);
  options.transport.drain_timeout = kGrace;
  Server::Builder builder;
  builder.AddListeningAddress(address).RegisterService(service.get()).SetOptions(options);
  absl::StatusOr<std::unique_ptr<Server>> server = builder.Build();
  if (!server.ok()) {
    std::fprintf(stderr, "chaos_server: %s\n", server.status().ToString().c_str());
    return 1;
  }
  std::printf("listening %s\n", (*server)->addresses().front().c_str());
  std::fflush(stdout);
  termination.Await();
  (*server)->Shutdown(kGrace);
  return 0;
}

}  // namespace
}  // namespace verbena::chaos

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  return verbena::chaos::Serve(argv[1], argv[2], argv[3]);
}
