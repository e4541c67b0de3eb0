// The chat's server daemon. Its flags: run it with --help.
//
//   chat_server --listen=127.0.0.1:7471

#include <iostream>

#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "examples/chat/chat_service.h"
#include "examples/daemon/run_daemon.h"

int main(int argc, char** argv) {
  absl::SetProgramUsageMessage("Serves demo.Chat until SIGTERM or SIGINT.");
  if (absl::ParseCommandLine(argc, argv).size() > 1) {
    std::cerr << "chat_server: takes flags alone; see --help\n";
    return 2;
  }
  verbena::examples::TerminationSignals signals;

  verbena::examples::ChatService service;
  return verbena::examples::RunDaemon("chat_server", {&service}, signals);
}
