"""What a call takes that is counted and not timed, both ends together."""

import json
import os
import pathlib
import subprocess
import sys
import time

from rows import Row

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "benchmarks/call_cost"))

import counts

CALL_COST_TARGET = "//benchmarks/call_cost"
# Where what is built here is, each program in a folder of its name.
PROGRAMS = ROOT / "bazel-bin/benchmarks"

# Under callgrind a byte that is copied takes fifty times as long: so many of all calls, and of small ones what it counts
# by default.
_BYTES_COUNTED = 1 << 27
_BYTES_IN_FLIGHT_MAX = 1 << 26

# Seconds; of rows with much memory four times as many. Calls are made for so long, and counted from so long after their
# server has started: connections are made by then, and memory is touched.
_SECONDS = 1.2
_SETTLE_SECONDS = 0.6
_COUNTED_SECONDS = 0.4

_TRIES = 3  # A process may end while perf looks for its threads.
TIMEOUT_S = 120  # Of one program.


def of_callgrind(row: Row) -> dict[str, float]:
    """Instructions (without the software device's), allocations and doorbells of a call of ours; nothing of a row that
    call_cost does not measure. Raises RuntimeError if it fails."""
    is_busy_call = row == Row(row.payload_bytes, row.in_flight, connections=row.connections)
    if not is_busy_call or row.payload_bytes * row.in_flight > _BYTES_IN_FLIGHT_MAX:
        return {}
    calls = min(counts.CALLS, max(row.in_flight, _BYTES_COUNTED // row.payload_bytes))
    counted = counts.measure(
        PROGRAMS / "call_cost/call_cost", f"--payload={row.payload_bytes}",
        f"--in_flight={row.in_flight}", f"--connections={row.connections}", calls=calls)  # fmt: skip
    return {"instructions": counted.without_device(), "allocations": counted.allocations,
            "doorbells": counted.doorbells}  # fmt: skip


def system_calls(row: Row, command_for, server_flag: str) -> dict[str, float]:
    """Of a call that `command_for(row, seconds)` makes to another process of its, which has `server_flag`: as the kernel
    sees them while calls are made. Nothing where perf may not count; its words are on standard error then.

    Raises subprocess.SubprocessError if the program fails or takes very long, RuntimeError if it has no such process.
    """
    with subprocess.Popen(command_for(row, row.seconds(_SECONDS)), stdout=subprocess.PIPE, text=True) as program:
        try:
            _wait_for_process(program, server_flag)
            time.sleep(row.seconds(_SETTLE_SECONDS))
            counted = _count_of_family(program.pid)
            said, _ = program.communicate(timeout=TIMEOUT_S)
        except BaseException:
            program.kill()
            raise
    if program.returncode != 0:
        raise subprocess.CalledProcessError(program.returncode, program.args)
    if counted is None:
        return {}
    return {"system_calls": counted / _COUNTED_SECONDS / json.loads(said.splitlines()[-1])["calls_per_second"]}


def _wait_for_process(program, flag: str) -> None:
    """Until one of the program's processes has this flag."""
    end = time.monotonic() + TIMEOUT_S
    while time.monotonic() < end and program.poll() is None:
        if any(flag in _arguments(process) for process in _family(program.pid)):
            return
        time.sleep(0.02)
    raise RuntimeError(f"{program.args[0]} has not started its server")


def _arguments(process: int) -> list[str]:
    try:
        return pathlib.Path(f"/proc/{process}/cmdline").read_text(encoding="utf-8").split("\0")
    except OSError:  # It has ended.
        return []


def _count_of_family(process: int) -> float | None:
    """Of _COUNTED_SECONDS."""
    for _ in range(_TRIES):
        family = ",".join(map(str, _family(process)))
        try:
            perf = subprocess.run(
                ["perf", "stat", "-x", ",", "-e", "raw_syscalls:sys_enter", "-p", family,
                 "sleep", str(_COUNTED_SECONDS)],
                env=os.environ | {"LC_ALL": "C"}, stderr=subprocess.PIPE, text=True, check=False)  # fmt: skip
        except OSError as error:
            print(f"system calls are not counted: {error}", file=sys.stderr)
            return None
        first = perf.stderr.split(",", 1)[0]
        if perf.returncode == 0 and first.isdigit():
            return float(first)
    print(f"system calls are not counted: {perf.stderr.strip()}", file=sys.stderr)
    return None


def _family(process: int) -> list[int]:
    """It and its children's children."""
    children = subprocess.run(["pgrep", "--parent", str(process)], stdout=subprocess.PIPE, text=True, check=False).stdout
    return [process, *(each for child in children.split() for each in _family(int(child)))]
