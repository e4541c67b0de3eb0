#include "examples/daemon/termination_signals.h"

#include <cerrno>

namespace verbena::examples {

TerminationSignals::TerminationSignals() {
  sigemptyset(&signals_);
  sigaddset(&signals_, SIGTERM);
  sigaddset(&signals_, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals_, &previous_mask_);
}

TerminationSignals::~TerminationSignals() { pthread_sigmask(SIG_SETMASK, &previous_mask_, nullptr); }

const char* TerminationSignals::Wait() {
  int signal = 0;
  while (sigwait(&signals_, &signal) == EINTR) {
  }
  return signal == SIGTERM ? "SIGTERM" : "SIGINT";
}

}  // namespace verbena::examples
