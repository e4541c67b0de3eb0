#include "transport/soft/testing/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <ext/stdio_filebuf.h>
#include <iostream>
#include <utility>

#include "absl/strings/numbers.h"
#include "gtest/gtest.h"

namespace verbena::soft {
namespace {

constexpr char kRoleFlag[] = "--role=";
constexpr int kPatienceMs = 10000;

struct Pipe {
  UniqueFd read;
  UniqueFd write;
};

Pipe MakePipe() {
  int ends[2];
  EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

// Only calls that are safe between fork and exec in a program with threads.
[[noreturn]] void BecomeChild(const Pipe& input, const Pipe& output, char* const* arguments) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  dup2(input.read.get(), STDIN_FILENO);
  dup2(output.write.get(), STDOUT_FILENO);
  execv("/proc/self/exe", arguments);
  _exit(127);
}

// std::cout goes on to the parent, everything else on standard output to where errors go.
void KeepOutputForCout() {
  static __gnu_cxx::stdio_filebuf<char> to_parent(fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0), std::ios::out);
  std::cout.rdbuf(&to_parent);
  dup2(STDERR_FILENO, STDOUT_FILENO);
}

}  // namespace

void RunRoleIfChild(int argc, char** argv, const Roles& roles) {
  std::string first = argc > 1 ? argv[1] : "";
  if (first.rfind(kRoleFlag, 0) != 0) return;
  KeepOutputForCout();
  roles.at(first.substr(sizeof(kRoleFlag) - 1))(std::vector<std::string>(argv + 2, argv + argc));
  exit(0);
}

ChildProcess::ChildProcess(const std::string& role, const std::vector<std::string>& arguments) {
  std::vector<std::string> words = {"child", kRoleFlag + role};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> raw;
  for (std::string& word : words) raw.push_back(word.data());
  raw.push_back(nullptr);
  Pipe input = MakePipe();
  Pipe output = MakePipe();
  pid_ = fork();
  if (pid_ == 0) BecomeChild(input, output, raw.data());
  EXPECT_GT(pid_, 0);
  input_ = std::move(input.write);
  output_ = std::move(output.read);
}

ChildProcess::~ChildProcess() { Kill(); }

std::string ChildProcess::ReadLine() {
  std::string line;
  for (;;) {
    pollfd waiting = {output_.get(), POLLIN, 0};
    char character;
    if (poll(&waiting, 1, kPatienceMs) != 1 || read(output_.get(), &character, 1) != 1) return "";
    if (character == '\n') return line;
    line.push_back(character);
  }
}

uint64_t ChildProcess::ReadNumber() {
  std::string line = ReadLine();
  uint64_t number = 0;
  EXPECT_TRUE(absl::SimpleAtoi(line, &number)) << "of the child, where a number was due: \"" << line << '"';
  return number;
}

void ChildProcess::WriteLine(const std::string& line) {
  std::string with_end = line + "\n";
  EXPECT_EQ(write(input_.get(), with_end.data(), with_end.size()), static_cast<ssize_t>(with_end.size()));
}

void ChildProcess::Kill() {
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  waitpid(std::exchange(pid_, -1), nullptr, 0);
}

}  // namespace verbena::soft
