// SIGTERM as something to wait for. Make one before any other thread is started: they inherit that the signal is
// blocked.

#ifndef VERBENA_TESTS_CHAOS_TERMINATION_H_
#define VERBENA_TESTS_CHAOS_TERMINATION_H_

#include <signal.h>

#include <cerrno>

#include "absl/time/time.h"

namespace verbena::chaos {

// Thread: any.
class Termination {
 public:
  Termination() {
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
  }

  void Await() const {
    int signal;
    sigwait(&signals_, &signal);
  }
  // Whether it came within that time.
  bool AwaitFor(absl::Duration time) const {
    const timespec limit = absl::ToTimespec(time);
    return sigtimedwait(&signals_, nullptr, &limit) == SIGTERM;
  }

 private:
  sigset_t signals_;
};

}  // namespace verbena::chaos

#endif  // VERBENA_TESTS_CHAOS_TERMINATION_H_
