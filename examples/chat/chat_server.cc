// The chat's server daemon. Its flags: run it with --help.
//
//   chat_server --listen=127.0.0.1:7471

#include "examples/chat/chat_service.h"
#include "examples/daemon/flags_alone.h"
#include "examples/daemon/run_daemon.h"

int main(int argc, char** argv) {
  if (!verbena::examples::ParseFlagsAlone(argc, argv, "Serves demo.Chat until SIGTERM or SIGINT.")) return 2;
  verbena::examples::TerminationSignals signals;

  verbena::examples::ChatService service;
  return verbena::examples::RunDaemon("chat_server", {&service}, signals);
}
