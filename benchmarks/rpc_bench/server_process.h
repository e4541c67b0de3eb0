// The other end, as a process of its own: this same program, run again.
//
// The child says where it can be reached in one line on its standard output, then serves until its standard input ends;
// so it cannot outlive us for long, whatever happens to us.

#ifndef VERBENA_BENCHMARKS_RPC_BENCH_SERVER_PROCESS_H_
#define VERBENA_BENCHMARKS_RPC_BENCH_SERVER_PROCESS_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace verbena::benchmarks {

class ServerProcess {
 public:
  // Runs this program with `arguments` and waits for its line. Unavailable: it ended without one; what it said to
  // standard error has the reason.
  static absl::StatusOr<ServerProcess> Start(const std::vector<std::string>& arguments);

  ServerProcess(ServerProcess&& other) noexcept;
  ServerProcess& operator=(ServerProcess&&) = delete;
  ~ServerProcess();  // Kills the child if it was not stopped.

  // The child's line.
  const std::string& address() const { return address_; }

  // Ends the child's standard input and waits until it has exited. Internal: it failed.
  absl::Status Stop();

 private:
  ServerProcess(pid_t pid, int input) : pid_(pid), input_(input) {}
  absl::Status ReadAddress(int output);

  pid_t pid_;  // -1: stopped, or moved from.
  int input_;
  std::string address_;
};

// For the child: says `address`, or waits for the end of standard input.
void SayAddress(const std::string& address);
void WaitForEndOfInput();

}  // namespace verbena::benchmarks

#endif  // VERBENA_BENCHMARKS_RPC_BENCH_SERVER_PROCESS_H_
