#include "benchmarks/rpc_bench/server_process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include "absl/strings/str_cat.h"

namespace verbena::benchmarks {
namespace {

constexpr char kThisProgram[] = "/proc/self/exe";

// Both ends close with exec, so that no child holds another one's pipes open.
absl::Status MakePipe(int ends[2]) {
  return pipe2(ends, O_CLOEXEC) == 0 ? absl::OkStatus() : absl::ErrnoToStatus(errno, "cannot make a pipe");
}

absl::StatusOr<pid_t> Spawn(const std::vector<std::string>& arguments, int input, int output) {
  std::vector<char*> argv{const_cast<char*>(kThisProgram)};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  pid_t pid = -1;
  const int error = posix_spawn(&pid, kThisProgram, &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return absl::ErrnoToStatus(error, "cannot run this program again");
  return pid;
}

}  // namespace

absl::StatusOr<ServerProcess> ServerProcess::Start(const std::vector<std::string>& arguments) {
  int input[2];
  int output[2];
  if (absl::Status status = MakePipe(input); !status.ok()) return status;
  if (absl::Status status = MakePipe(output); !status.ok()) {
    close(input[0]);
    close(input[1]);
    return status;
  }
  const absl::StatusOr<pid_t> pid = Spawn(arguments, input[0], output[1]);
  close(input[0]);
  close(output[1]);
  ServerProcess process(pid.ok() ? *pid : -1, input[1]);
  absl::Status status = pid.ok() ? process.ReadAddress(output[0]) : pid.status();
  close(output[0]);
  if (!status.ok()) return status;
  return process;
}

absl::Status ServerProcess::ReadAddress(int output) {
  for (char c = 0;; address_ += c) {
    ssize_t got;
    do {
      got = read(output, &c, 1);
    } while (got < 0 && errno == EINTR);
    if (got <= 0) return absl::UnavailableError("the server process ended before it could be reached");
    if (c == '\n') return absl::OkStatus();
  }
}

ServerProcess::ServerProcess(ServerProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      input_(std::exchange(other.input_, -1)),
      address_(std::move(other.address_)) {}

ServerProcess::~ServerProcess() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  if (input_ >= 0) close(input_);
}

absl::Status ServerProcess::Stop() {
  close(std::exchange(input_, -1));
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return absl::OkStatus();
  return absl::InternalError(WIFEXITED(status)
                                 ? absl::StrCat("the server process exited with ", WEXITSTATUS(status))
                                 : absl::StrCat("the server process was ended by signal ", WTERMSIG(status)));
}

void SayAddress(const std::string& address) {
  std::puts(address.c_str());
  std::fflush(stdout);
}

void WaitForEndOfInput() {
  char ignored[64];
  ssize_t got;
  do {
    got = read(STDIN_FILENO, ignored, sizeof(ignored));
  } while (got > 0 || (got < 0 && errno == EINTR));
}

}  // namespace verbena::benchmarks
