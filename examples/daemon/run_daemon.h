// What every server daemon of the examples does around its services. Its flags, which all of them so have:
//   --listen=ADDRESS,…   --device=NAME   --wait=busy|event|adaptive   --loops=N   --drain_seconds=N

#ifndef VERBENA_EXAMPLES_DAEMON_RUN_DAEMON_H_
#define VERBENA_EXAMPLES_DAEMON_RUN_DAEMON_H_

#include <vector>

#include "absl/strings/string_view.h"
#include "examples/daemon/termination_signals.h"
#include "rpc/service.h"

namespace verbena::examples {

// Serves until SIGTERM or SIGINT, then drains: lets the calls in flight finish, for --drain_seconds at most. To
// standard error, one line each: "NAME: listening on ADDRESS" for each address, once it can be called, with the real
// port and device; the signal; the end. `signals` was made at the start of main, before any other thread. Returns
// main's result: 0 after a drain, 1 if the server could not start, with the reason printed.
int RunDaemon(absl::string_view name, const std::vector<Service*>& services, TerminationSignals& signals);

}  // namespace verbena::examples

#endif  // VERBENA_EXAMPLES_DAEMON_RUN_DAEMON_H_
