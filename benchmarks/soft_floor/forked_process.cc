#include "benchmarks/soft_floor/forked_process.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "benchmarks/yardstick/cpu_pinning.h"

namespace verbena::benchmarks {

absl::StatusOr<ForkedProcess> ForkedProcess::Run(int cpu, const std::function<void()>& body) {
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) return absl::ErrnoToStatus(errno, "cannot fork");
  if (pid > 0) return ForkedProcess(pid);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() == parent) {
    const PinnedThread pinned(cpu);
    body();
  }
  _exit(0);
}

ForkedProcess::ForkedProcess(ForkedProcess&& other) noexcept : pid_(std::exchange(other.pid_, -1)) {}

ForkedProcess::~ForkedProcess() {
  if (pid_ < 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

}  // namespace verbena::benchmarks
