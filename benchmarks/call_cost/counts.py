"""What a call costs: runs call_cost under callgrind, and counts."""

import dataclasses
import os
import pathlib
import subprocess
import tempfile

import callgrind_profile
import layers
import locked_instructions

# How many calls are counted by default, behind others that are not.
CALLS = 2000
_ALLOCATIONS = ("malloc", "calloc", "realloc", "aligned_alloc", "posix_memalign")
_LOCKS = ("pthread_mutex_lock", "pthread_mutex_trylock", "pthread_rwlock_rdlock", "pthread_rwlock_wrlock")
# What ibv_post_send calls: work requests posted together are one call. And what ibv_post_srq_recv and ibv_post_recv do.
_DOORBELL = ("verbena::soft::QueuePair::PostSend(ibv_send_wr const*",)
_RECEIVE_POSTS = ("verbena::soft::SharedReceiveQueue::Post(ibv_recv_wr const*",
                  "verbena::soft::QueuePair::PostReceive(ibv_recv_wr const*")  # fmt: skip
# Of libc, which chooses one by processor: "memcpy_avx_unaligned_erms". Those of a few bytes are no calls.
_COPIES = ("memcpy", "memmove", "mempcpy")
# What libc calls the kernel for on a call's way: waiting, waking, descriptors, memory and its copies. The clock is read
# without the kernel. As callgrind names them, of several names any one; those that begin with underscores without.
_SYSTEM_CALLS = (
    "brk", "clock_nanosleep", "close", "epoll_ctl", "epoll_pwait", "epoll_wait", "eventfd_read", "eventfd_write", "fallocate",
    "futex", "ioctl", "madvise", "mlock", "mlock2", "mmap", "mprotect", "mremap", "munlock", "munmap", "nanosleep", "poll",
    "ppoll", "process_vm_readv", "process_vm_writev", "pthread_cond_broadcast", "pthread_cond_signal",
    "pthread_cond_timedwait", "pthread_cond_wait", "read", "readv", "recv", "recvfrom", "recvmsg", "sbrk", "sched_yield",
    "send", "sendmsg", "sendto", "syscall", "timerfd_settime", "usleep", "write", "writev",
)  # fmt: skip
# At most, of an event loop that polls (transport/epoll_event_loop.cc): some calls take callgrind as long.
_SECONDS_BETWEEN_LOOKS = 0.05


@dataclasses.dataclass
class Counts:
    """For each call, both ends together."""

    instructions: dict  # By layer.
    allocations: float = 0.0
    locks: float = 0.0
    system_calls: float = 0.0
    doorbells: float = 0.0
    receive_posts: float = 0.0
    copies: float = 0.0  # Whoever makes them: calls of libc for it.
    locked_instructions: float = 0.0  # Of the program's own code without the software device.
    functions: list = dataclasses.field(default_factory=list)  # (instructions, layer, function), most first.
    seconds_kept_waiting: float = 0.0  # In all, for a processor.

    def without_device(self):
        return sum(count for layer, count in self.instructions.items() if layer != layers.DEVICE)


def count(profile, calls, seconds=0.0, program="", locked=frozenset()):
    """`seconds` that the calls took: the loop's looks at its descriptors that are by the clock are none of a call's.
    `locked`: addresses of the object `program`, to be counted."""
    by_layer = dict.fromkeys(layers.ORDER, 0.0)
    functions = []
    for (object_name, function), instructions in profile.instructions.items():
        layer = layers.layer_of(object_name, function)
        by_layer[layer] += instructions / calls
        functions.append((instructions / calls, layer, function))

    def calls_of(names):
        # Versioned symbols: pthread_mutex_lock@@GLIBC_2.2.5.
        return sum(number for function, number in profile.calls.items()
                   if function.split("@")[0].lstrip("_").removesuffix("64") in names) / calls

    locked_executions = sum(
        number for (object_name, function, address), number in profile.executions.items()
        if object_name == program and address in locked and layers.layer_of(object_name, function) != layers.DEVICE)

    def calls_that_begin(names, clean=str):
        return sum(number for function, number in profile.calls.items() if clean(function).startswith(names)) / calls

    system_calls = max(0.0, calls_of(_SYSTEM_CALLS) - seconds / _SECONDS_BETWEEN_LOOKS / calls)
    return Counts(
        by_layer, calls_of(_ALLOCATIONS), calls_of(_LOCKS), system_calls, calls_that_begin(_DOORBELL),
        calls_that_begin(_RECEIVE_POSTS), calls_that_begin(_COPIES, lambda function: function.lstrip("_")),
        locked_executions / calls, sorted(functions, reverse=True))  # fmt: skip


# The software device has no thread of its own: under callgrind a turn of the loop takes so long that the device's thread
# would take the polling thread for one that sleeps, and move bytes at times that go by the clock.
_ENVIRONMENT = {"VERBENA_SOFT_PROGRESS": "polls"}


def measure(program, *arguments, calls=CALLS):
    """Raises RuntimeError, with what it said, if the program fails."""
    program = str(pathlib.Path(program).resolve())
    with tempfile.TemporaryDirectory() as folder:
        output = pathlib.Path(folder) / "callgrind.out"
        run = subprocess.run(
            ["valgrind", "--tool=callgrind", "--fair-sched=yes", "--instr-atstart=no", "--dump-instr=yes",
             f"--callgrind-out-file={output}", program, f"--calls={calls}", *arguments],
            capture_output=True, text=True, check=False, env=os.environ | _ENVIRONMENT)
        if run.returncode != 0 or not output.exists():
            raise RuntimeError(f"{program} under valgrind: status {run.returncode}\n{run.stderr}")
        with output.open() as lines:
            seconds, kept_waiting = map(float, run.stdout.split())
            counted = count(callgrind_profile.parse(lines), calls, seconds, program,
                            locked_instructions.of_program(program))
            return dataclasses.replace(counted, seconds_kept_waiting=kept_waiting)
