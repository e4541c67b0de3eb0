// One of a key-value store's server daemons. Its flags: run it with --help.
//
//   kvstore_server --listen=127.0.0.1:7481

#include "examples/daemon/flags_alone.h"
#include "examples/daemon/run_daemon.h"
#include "examples/kvstore/key_value_service.h"

int main(int argc, char** argv) {
  if (!verbena::examples::ParseFlagsAlone(argc, argv, "Serves demo.KeyValue until SIGTERM or SIGINT.")) return 2;
  verbena::examples::TerminationSignals signals;

  verbena::examples::KeyValueService service;
  return verbena::examples::RunDaemon("kvstore_server", {&service}, signals);
}
