#include "benchmarks/yardstick/child_process.h"

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

void AppendPointers(const std::vector<std::string>& strings, std::vector<char*>* pointers) {
  for (const std::string& each : strings) pointers->push_back(const_cast<char*>(each.c_str()));
}

// Of two settings of one variable the first one counts: see getenv(3).
std::vector<char*> EnvironmentWith(const std::vector<std::string>& additions) {
  std::vector<char*> result;
  AppendPointers(additions, &result);
  for (char** each = environ; *each != nullptr; ++each) result.push_back(*each);
  result.push_back(nullptr);
  return result;
}

absl::StatusOr<pid_t> Spawn(const std::vector<std::string>& arguments, const std::vector<std::string>& environment,
                            int input, int output) {
  std::vector<char*> argv{const_cast<char*>(kThisProgram)};
  AppendPointers(arguments, &argv);
  argv.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  pid_t pid = -1;
  const int error =
      posix_spawn(&pid, kThisProgram, &actions, nullptr, argv.data(), EnvironmentWith(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return absl::ErrnoToStatus(error, "cannot run this program again");
  return pid;
}

}  // namespace

absl::StatusOr<ChildProcess> ChildProcess::Start(const std::vector<std::string>& arguments,
                                                 const std::vector<std::string>& environment) {
  int input[2];
  int output[2];
  if (absl::Status status = MakePipe(input); !status.ok()) return status;
  if (absl::Status status = MakePipe(output); !status.ok()) {
    close(input[0]);
    close(input[1]);
    return status;
  }
  const absl::StatusOr<pid_t> pid = Spawn(arguments, environment, input[0], output[1]);
  close(input[0]);
  close(output[1]);
  ChildProcess process(pid.ok() ? *pid : -1, input[1]);
  absl::Status status = pid.ok() ? process.ReadLine(output[0]) : pid.status();
  close(output[0]);
  if (!status.ok()) return status;
  return process;
}

absl::Status ChildProcess::ReadLine(int output) {
  for (char c = 0;; line_ += c) {
    ssize_t got;
    do {
      got = read(output, &c, 1);
    } while (got < 0 && errno == EINTR);
    if (got <= 0) return absl::UnavailableError("the other process of the measurement ended before it said its line");
    if (c == '\n') return absl::OkStatus();
  }
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), input_(std::exchange(other.input_, -1)), line_(std::move(other.line_)) {}

ChildProcess::~ChildProcess() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  if (input_ >= 0) close(input_);
}

absl::Status ChildProcess::Stop() {
  close(std::exchange(input_, -1));
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return absl::OkStatus();
  return absl::InternalError(WIFEXITED(status)
                                 ? absl::StrCat("the other process exited with ", WEXITSTATUS(status))
                                 : absl::StrCat("the other process was ended by signal ", WTERMSIG(status)));
}

void SayLine(const std::string& line) {
  std::puts(line.c_str());
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
