// A program that a test starts, reads the first line of, signals and waits for.

#ifndef VERBENA_TESTS_INTEGRATION_CHILD_PROCESS_H_
#define VERBENA_TESTS_INTEGRATION_CHILD_PROCESS_H_

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "tests/integration/device_under_test.h"
#include "transport/endpoint.h"

namespace verbena::probe {

// Where Bazel put a program: beside the test, in its runfiles.
std::string ProgramPath(absl::string_view name, absl::string_view folder = "tests/integration");

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
  // Asks it to end: SIGTERM.
  void Terminate();
  void KillAndWait();
  // -1: it has ended.
  pid_t pid() const { return pid_; }
  // How it has ended, if it has: "exit 0", "signal 11".
  std::optional<std::string> Ending();
  // Processor time that it has used so far.
  absl::Duration ProcessorTime() const;
  // Memory of it that is present. Zero: it has ended.
  uint64_t ResidentBytes() const;

 private:
  void Signal(int signal);
  // waitpid with these options; notes the ending if it is one.
  void Wait(int options);

  pid_t pid_ = -1;
  std::optional<std::string> ending_;
  int output_ = -1;
};

// The times are as in TransportOptions.
struct ServerProcessOptions {
  std::string wait = "adaptive";  // As probe_server's option.
  absl::Duration ack_timeout = transport::TransportOptions().ack_timeout;
  absl::Duration keepalive_interval = transport::TransportOptions().keepalive_interval;
  std::vector<std::string> launcher = {};  // A command that runs the one which follows it, elsewhere.
};

// A probe_server, and where it listens.
class ServerProcess {
 public:
  explicit ServerProcess(const std::string& address = integration::AddressUnderTest(),
                         const ServerProcessOptions& options = {});

  const std::string& address() const { return address_; }
  ChildProcess& process() { return process_; }

 private:
  ChildProcess process_;
  std::string address_;
};

}  // namespace verbena::probe

#endif  // VERBENA_TESTS_INTEGRATION_CHILD_PROCESS_H_
