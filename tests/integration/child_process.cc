#include "tests/integration/child_process.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"

namespace verbena::probe {
namespace {

std::vector<std::string> Concatenate(std::vector<std::string> first, const std::vector<std::string>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

}  // namespace

std::string ProgramPath(absl::string_view name, absl::string_view folder) {
  const char* const runfiles = std::getenv("TEST_SRCDIR");
  const std::string root = runfiles == nullptr ? "." : absl::StrCat(runfiles, "/verbena");
  return absl::StrCat(root, "/", folder, "/", name);
}

ChildProcess::ChildProcess(const std::vector<std::string>& arguments) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  pid_ = fork();
  if (pid_ == 0) {
    dup2(ends[1], STDOUT_FILENO);
    close(ends[0]);
    close(ends[1]);
    execvp(argv[0], argv.data());
    _exit(127);
  }
  EXPECT_GT(pid_, 0);
  close(ends[1]);
  output_ = ends[0];
}

ChildProcess::~ChildProcess() {
  KillAndWait();
  close(output_);
}

std::string ChildProcess::ReadLine() {
  std::string line;
  char next;
  while (read(output_, &next, 1) == 1 && next != '\n') line += next;
  return line;
}

void ChildProcess::Stop() {
  Signal(SIGSTOP);
  Wait(WUNTRACED);
}

void ChildProcess::Continue() { Signal(SIGCONT); }

void ChildProcess::Terminate() { Signal(SIGTERM); }

void ChildProcess::KillAndWait() {
  Signal(SIGKILL);
  Wait(0);
}

std::optional<std::string> ChildProcess::Ending() {
  Wait(WNOHANG);
  return ending_;
}

void ChildProcess::Signal(int signal) {
  if (pid_ > 0) kill(pid_, signal);
}

void ChildProcess::Wait(int options) {
  int status;
  if (pid_ <= 0 || waitpid(pid_, &status, options) != pid_ || WIFSTOPPED(status)) return;
  pid_ = -1;
  ending_ = WIFEXITED(status) ? absl::StrCat("exit ", WEXITSTATUS(status)) : absl::StrCat("signal ", WTERMSIG(status));
}

absl::Duration ChildProcess::ProcessorTime() const {
  std::ifstream file(absl::StrCat("/proc/", pid_, "/stat"));
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  // After the command's closing parenthesis: state is field 3, utime 14, stime 15 (proc(5)).
  const std::vector<std::string> fields = absl::StrSplit(text.substr(text.rfind(')') + 2), ' ');
  const int64_t ticks = std::stoll(fields.at(11)) + std::stoll(fields.at(12));
  return absl::Seconds(ticks) / sysconf(_SC_CLK_TCK);
}

uint64_t ChildProcess::ResidentBytes() const {
  std::ifstream file(absl::StrCat("/proc/", pid_, "/statm"));
  uint64_t size = 0, resident = 0;  // The first two fields, in pages (proc(5)).
  file >> size >> resident;
  return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

ServerProcess::ServerProcess(const std::string& address, const ServerProcessOptions& options)
    : process_(Concatenate(options.launcher, {ProgramPath("probe_server"), address, options.wait,
                                              absl::FormatDuration(options.ack_timeout),
                                              absl::FormatDuration(options.keepalive_interval)})) {
  const std::string line = process_.ReadLine();
  EXPECT_TRUE(absl::StartsWith(line, "listening ")) << "probe_server said: " << line;
  if (absl::StartsWith(line, "listening ")) address_ = line.substr(10);
}

}  // namespace verbena::probe
