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

std::string ProgramPath(absl::string_view name) {
  const char* const runfiles = std::getenv("TEST_SRCDIR");
  const std::string root = runfiles == nullptr ? "." : absl::StrCat(runfiles, "/verbena");
  return absl::StrCat(root, "/tests/integration/", name);
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
  kill(pid_, SIGSTOP);
  waitpid(pid_, nullptr, WUNTRACED);
}

void ChildProcess::Continue() { kill(pid_, SIGCONT); }

void ChildProcess::KillAndWait() {
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

absl::Duration ChildProcess::ProcessorTime() const {
  std::ifstream file(absl::StrCat("/proc/", pid_, "/stat"));
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  // After the command's closing parenthesis: state is field 3, utime 14, stime 15 (proc(5)).
  const std::vector<std::string> fields = absl::StrSplit(text.substr(text.rfind(')') + 2), ' ');
  const int64_t ticks = std::stoll(fields.at(11)) + std::stoll(fields.at(12));
  return absl::Seconds(ticks) / sysconf(_SC_CLK_TCK);
}

ServerProcess::ServerProcess(const std::string& address, const std::string& wait, absl::Duration ack_timeout,
                             const std::vector<std::string>& launcher)
    : process_(Concatenate(launcher, {ProgramPath("probe_server"), address, wait, absl::FormatDuration(ack_timeout)})) {
  const std::string line = process_.ReadLine();
  EXPECT_TRUE(absl::StartsWith(line, "listening ")) << "probe_server said: " << line;
  if (absl::StartsWith(line, "listening ")) address_ = line.substr(10);
}

}  // namespace verbena::probe
