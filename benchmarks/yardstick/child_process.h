// Another process of a measurement: this same program, run again.
//
// The child says one line on its standard output (where it can be reached, or what it measured), then goes on until its
// standard input ends; so it cannot outlive us for long, whatever happens to us.

#ifndef VERBENA_BENCHMARKS_YARDSTICK_CHILD_PROCESS_H_
#define VERBENA_BENCHMARKS_YARDSTICK_CHILD_PROCESS_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace verbena::benchmarks {

class ChildProcess {
 public:
  // Runs this program with `arguments`, and with `environment` ("NAME=value") beside its own, and waits for its line.
  // Unavailable: it ended without one; what it said to standard error has the reason.
  static absl::StatusOr<ChildProcess> Start(const std::vector<std::string>& arguments,
                                            const std::vector<std::string>& environment = {});

  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&&) = delete;
  ~ChildProcess();  // Kills the child if it was not stopped.

  // The child's line.
  const std::string& line() const { return line_; }

  pid_t pid() const { return pid_; }

  // Ends the child's standard input and waits until it has exited. Internal: it failed.
  absl::Status Stop();

 private:
  ChildProcess(pid_t pid, int input) : pid_(pid), input_(input) {}
  absl::Status ReadLine(int output);

  pid_t pid_;  // -1: stopped, or moved from.
  int input_;
  std::string line_;
};

// For the child: says `line`, or waits for the end of standard input.
void SayLine(const std::string& line);
void WaitForEndOfInput();

}  // namespace verbena::benchmarks

#endif  // VERBENA_BENCHMARKS_YARDSTICK_CHILD_PROCESS_H_
