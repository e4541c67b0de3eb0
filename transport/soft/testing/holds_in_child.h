// For tests: what holds in a child made by fork().

#ifndef VERBENA_TRANSPORT_SOFT_TESTING_HOLDS_IN_CHILD_H_
#define VERBENA_TRANSPORT_SOFT_TESTING_HOLDS_IN_CHILD_H_

#include <sys/wait.h>
#include <unistd.h>

#include <functional>

namespace verbena::soft {

// Whether `body`, run in a child, gives true. A child that hangs is ended by its alarm.
inline bool HoldsInChild(const std::function<bool()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    _exit(body() ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_TESTING_HOLDS_IN_CHILD_H_
