// A server of the probe service for tests that kill it. Prints "listening ADDRESS" when it serves; ends with its
// parent.
//
//   probe_server ADDRESS [busy|event|adaptive [ACK_TIMEOUT [KEEPALIVE_INTERVAL]]]

#include <signal.h>
#include <sys/prctl.h>

#include <cstdio>
#include <cstring>

#include "absl/time/time.h"
#include "rpc/server.h"
#include "tests/integration/probe_service.h"

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  verbena::ServerOptions options;
  options.transport.message_bytes_max = uint64_t{4} << 30;
  options.transport.rnr_retry_count = 0;
  if (argc > 2 && std::strcmp(argv[2], "event") == 0) options.wait = verbena::WaitPolicy::kEvent;
  if (argc > 2 && std::strcmp(argv[2], "busy") == 0) options.wait = verbena::WaitPolicy::kBusy;
  if (argc > 3 && !absl::ParseDuration(argv[3], &options.transport.ack_timeout)) return 2;
  if (argc > 4 && !absl::ParseDuration(argv[4], &options.transport.keepalive_interval)) return 2;
  verbena::probe::ProbeService service;
  verbena::Server::Builder builder;
  builder.AddListeningAddress(argv[1]).RegisterService(&service).SetOptions(options);
  absl::StatusOr<std::unique_ptr<verbena::Server>> server = builder.Build();
  if (!server.ok()) {
    std::fprintf(stderr, "probe_server: %s\n", server.status().ToString().c_str());
    return 1;
  }
  std::printf("listening %s\n", (*server)->addresses().front().c_str());
  std::fflush(stdout);
  (*server)->Wait();
  return 0;
}
