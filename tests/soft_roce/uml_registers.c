// Loaded before the C library into the program that is the User Mode Linux kernel. That keeps the registers of its
// processes in 2,696 bytes, and hands as many back; but Linux takes the whole of a processor's extended state or
// nothing, which is 11,008 bytes where there is AMX: the first process of the guest would not start. What is missing is
// given here in its initial state. It is AMX's alone, and a process has that only if it asks for it.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/uio.h>

enum { kStateBytesMax = 1 << 16 };

static long (*next_ptrace)(enum __ptrace_request request, pid_t process, void* address, void* data);
// Of the processor: the same for all processes, and zeros past what is given. The kernel has one thread.
static unsigned char state[kStateBytesMax] __attribute__((aligned(64)));
static size_t state_bytes;

__attribute__((constructor)) static void FindNext(void) { *(void**)&next_ptrace = dlsym(RTLD_NEXT, "ptrace"); }

static void LearnStateBytes(pid_t process) {
  struct iovec whole = {state, sizeof(state)};
  if (next_ptrace(PTRACE_GETREGSET, process, (void*)NT_X86_XSTATE, &whole) == 0) state_bytes = whole.iov_len;
  memset(state, 0, sizeof(state));
}

long ptrace(enum __ptrace_request request, ...) {
  va_list arguments;
  va_start(arguments, request);
  const pid_t process = va_arg(arguments, pid_t);
  void* const address = va_arg(arguments, void*);
  void* const data = va_arg(arguments, void*);
  va_end(arguments);
  if (request != PTRACE_SETREGSET || address != (void*)NT_X86_XSTATE) {
    return next_ptrace(request, process, address, data);
  }
  if (state_bytes == 0) LearnStateBytes(process);
  const struct iovec* const given = data;
  if (given->iov_len >= state_bytes) return next_ptrace(request, process, address, data);
  memcpy(state, given->iov_base, given->iov_len);
  struct iovec whole = {state, state_bytes};
  return next_ptrace(request, process, address, &whole);
}
