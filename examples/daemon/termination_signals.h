// SIGTERM and SIGINT as something to wait for, instead of something that interrupts.

#ifndef VERBENA_EXAMPLES_DAEMON_TERMINATION_SIGNALS_H_
#define VERBENA_EXAMPLES_DAEMON_TERMINATION_SIGNALS_H_

#include <csignal>

namespace verbena::examples {

// Blocks both signals in the calling thread and in the threads that it starts from here on. So: make one at the start
// of main, before any thread exists, and keep it to the end. Thread: Wait is for one at a time.
class TerminationSignals {
 public:
  TerminationSignals();
  TerminationSignals(const TerminationSignals&) = delete;
  TerminationSignals& operator=(const TerminationSignals&) = delete;
  ~TerminationSignals();  // Restores the calling thread's signal mask.

  // Blocks until one of them arrives, and returns its name.
  const char* Wait();

 private:
  sigset_t signals_;
  sigset_t previous_mask_;
};

}  // namespace verbena::examples

#endif  // VERBENA_EXAMPLES_DAEMON_TERMINATION_SIGNALS_H_
