// A program that a test starts, reads the first line of, signals and waits for.

#ifndef VERBENA_TESTS_INTEGRATION_CHILD_PROCESS_H_
#define VERBENA_TESTS_INTEGRATION_CHILD_PROCESS_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "tests/integration/device_under_test.h"

namespace verbena::probe {

// Where Bazel put a program of this folder: beside the test, in its runfiles.
std::string ProgramPath(absl::string_view name);

// Killed and reaped when destroyed. Thread: one.
class ChildProcess {
 public:
  // `arguments[0]` is the program, looked for in $PATH if it names no folder. Fails the test if it cannot be started.
  explicit ChildProcess(const std::vector<std::string>& arguments);
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  // The next line of its standard output, without the newline; empty at its end.
  std::string ReadLine();
  // Stops it, and returns when no thread of it runs any more.
  void Stop();
  void Continue();
  void KillAndWait();
  // Processor time that it has used so far.
  absl::Duration ProcessorTime() const;

 private:
  pid_t pid_ = -1;
  int output_ = -1;
};

// A probe_server, and where it listens. `ack_timeout` is TransportOptions'; `launcher`, a command that runs the one
// which follows it, says where if not here.
class ServerProcess {
 public:
  explicit ServerProcess(const std::string& address = integration::AddressUnderTest(),
                         const std::string& wait = "adaptive", absl::Duration ack_timeout = absl::Seconds(1),
                         const std::vector<std::string>& launcher = {});

  const std::string& address() const { return address_; }
  ChildProcess& process() { return process_; }

 private:
  ChildProcess process_;
  std::string address_;
};

}  // namespace verbena::probe

#endif  // VERBENA_TESTS_INTEGRATION_CHILD_PROCESS_H_
