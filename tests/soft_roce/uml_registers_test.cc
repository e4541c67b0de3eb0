// A process's registers, read and written back in a part of their bytes, as User Mode Linux does.

#include <elf.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <vector>

#include "gtest/gtest.h"

namespace verbena::soft_roce {
namespace {

// x87, SSE and the header of the rest: less than any processor with AVX has.
constexpr size_t kPartBytes = 576;
constexpr size_t kFirstSseRegister = 160;

class StoppedProcess {
 public:
  StoppedProcess() : pid_(fork()) {
    if (pid_ == 0) {
      ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
      raise(SIGSTOP);
      _exit(0);
    }
    waitpid(pid_, nullptr, 0);
  }
  ~StoppedProcess() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }

  // Of its registers, at most so many bytes.
  std::vector<char> Read(size_t bytes_max) {
    std::vector<char> registers(bytes_max);
    iovec into = {registers.data(), registers.size()};
    EXPECT_EQ(ptrace(PTRACE_GETREGSET, pid_, NT_X86_XSTATE, &into), 0) << strerror(errno);
    registers.resize(into.iov_len);
    return registers;
  }
  bool Write(std::vector<char> registers) {
    iovec from = {registers.data(), registers.size()};
    return ptrace(PTRACE_SETREGSET, pid_, NT_X86_XSTATE, &from) == 0;
  }

 private:
  const pid_t pid_;
};

TEST(UmlRegisters, APartOfThemIsWrittenBack) {
  StoppedProcess process;
  std::vector<char> registers = process.Read(kPartBytes);
  ASSERT_EQ(registers.size(), kPartBytes);
  registers[512] |= 2;  // SSE is not in its initial state.
  registers[kFirstSseRegister] ^= 0x55;
  ASSERT_TRUE(process.Write(registers)) << strerror(errno);
  EXPECT_EQ(process.Read(kPartBytes), registers);
}

TEST(UmlRegisters, AllOfThemAreWrittenBackAsTheyAre) {
  StoppedProcess process;
  const std::vector<char> registers = process.Read(1 << 16);
  ASSERT_TRUE(process.Write(registers)) << strerror(errno);
  EXPECT_EQ(process.Read(1 << 16), registers);
}

}  // namespace
}  // namespace verbena::soft_roce
