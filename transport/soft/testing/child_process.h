// A second process in a test: this test's own program, started again in a role.
//
// The program's main calls RunRoleIfChild first, which runs the role and exits if the process is such a child. Parent
// and child talk in lines: the child by std::cin and std::cout. What else it prints, failed expectations too, is the
// test's output. Thread: one.

#ifndef VERBENA_TRANSPORT_SOFT_TESTING_CHILD_PROCESS_H_
#define VERBENA_TRANSPORT_SOFT_TESTING_CHILD_PROCESS_H_

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "transport/soft/unique_fd.h"

namespace verbena::soft {

using Roles = std::map<std::string, std::function<void(const std::vector<std::string>& arguments)>>;
void RunRoleIfChild(int argc, char** argv, const Roles& roles);

class ChildProcess {
 public:
  ChildProcess(const std::string& role, const std::vector<std::string>& arguments = {});
  ~ChildProcess();  // Kills it if it is still there.
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  // The next line it printed, without its end; empty at the end, or after ten seconds.
  std::string ReadLine();
  // The same, a number. If it is none, the test fails, saying what came instead, and it is 0.
  uint64_t ReadNumber();
  void WriteLine(const std::string& line);
  // SIGKILL, and waits until it is gone.
  void Kill();

 private:
  pid_t pid_ = -1;
  UniqueFd input_;   // Its standard input.
  UniqueFd output_;  // Its standard output.
};

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_TESTING_CHILD_PROCESS_H_
