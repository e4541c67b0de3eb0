#include "transport/soft/control_io/device_thread.h"

#include <pthread.h>
#include <signal.h>

#include <system_error>
#include <utility>

namespace verbena::soft {
namespace {

// In the calling thread, for as long as this lives: a new thread inherits its creator's mask.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

}  // namespace

int StartDeviceThread(const char* name, std::function<void()> run, std::thread* thread) {
  SignalsBlocked signals_blocked;
  try {
    *thread = std::thread(std::move(run));
  } catch (const std::system_error& error) {
    return error.code().value();
  }
  pthread_setname_np(thread->native_handle(), name);
  return 0;
}

}  // namespace verbena::soft
