// The greeter's server daemon. Its flags: run it with --help.
//
//   greeter_server --listen=127.0.0.1:7471

#include "absl/flags/flag.h"
#include "examples/daemon/flags_alone.h"
#include "examples/daemon/run_daemon.h"
#include "examples/greeter/greeter_service.h"

ABSL_FLAG(bool, callback, false,
          "Serve on the event loop by callback, instead of on the executor by blocking handlers.");

int main(int argc, char** argv) {
  if (!verbena::examples::ParseFlagsAlone(argc, argv, "Serves demo.Greeter until SIGTERM or SIGINT.")) return 2;
  verbena::examples::TerminationSignals signals;

  verbena::examples::BlockingGreeter blocking;
  verbena::examples::CallbackGreeter callback;
  verbena::Service* service = &blocking;
  if (absl::GetFlag(FLAGS_callback)) service = &callback;
  return verbena::examples::RunDaemon("greeter_server", {service}, signals);
}
