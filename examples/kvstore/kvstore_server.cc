// One of a key-value store's server daemons. Its flags: run it with --help.
//
//   kvstore_server --listen=127.0.0.1:7481

#include <iostream>

#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "examples/daemon/run_daemon.h"
#include "examples/kvstore/key_value_service.h"

int main(int argc, char** argv) {
  absl::SetProgramUsageMessage("Serves demo.KeyValue until SIGTERM or SIGINT.");
  if (absl::ParseCommandLine(argc, argv).size() > 1) {
    std::cerr << "kvstore_server: takes flags alone; see --help\n";
    return 2;
  }
  verbena::examples::TerminationSignals signals;

  verbena::examples::KeyValueService service;
  return verbena::examples::RunDaemon("kvstore_server", {&service}, signals);
}
