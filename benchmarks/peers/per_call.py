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

# Under callgrind a byte that is copied takes fifty times as long: so many of all calls, and of small ones what it counts
# by default.
_BYTES_COUNTED = 1 << 27
_BYTES_IN_FLIGHT_MAX = 1 << 26

# A program runs for so long, of which its calls are counted in the middle of the second half: ours measures raw verbs in
# the first.
SECONDS = 1.2
_COUNTED_FROM = 0.5
_COUNTED_SECONDS = 0.4

_TRIES = 3  # One of the processes may end while perf looks for its threads.


def of_callgrind(row: Row) -> dict[str, float]:
    """Instructions (without the software device's), allocations and doorbells of a call of ours; nothing of a row that
    call_cost does not measure. Raises RuntimeError if it fails."""
    is_busy_call = row == Row(row.payload_bytes, row.in_flight, connections=row.connections)
    if not is_busy_call or row.payload_bytes * row.in_flight > _BYTES_IN_FLIGHT_MAX:
        return {}
    calls = min(counts.CALLS, max(row.in_flight, _BYTES_COUNTED // row.payload_bytes))
    counted = counts.measure(
        ROOT / "bazel-bin/benchmarks/call_cost/call_cost", f"--payload={row.payload_bytes}",
        f"--in_flight={row.in_flight}", f"--connections={row.connections}", calls=calls)  # fmt: skip
    return {"instructions": counted.without_device(), "allocations": counted.allocations,
            "doorbells": counted.doorbells}  # fmt: skip


def system_calls(command: list[str], runs_before: float) -> dict[str, float]:
    """Of a call that `command` makes, which measures for SECONDS after `runs_before`: as the kernel sees them while it
    runs. Nothing where perf may not count; its words are on standard error then."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as program:
        time.sleep(runs_before + _COUNTED_FROM)
        counted = _count_of_family(program.pid)
        said, _ = program.communicate(timeout=60)
    if program.returncode != 0:
        raise subprocess.CalledProcessError(program.returncode, command)
    if counted is None:
        return {}
    return {"system_calls": counted / _COUNTED_SECONDS / json.loads(said.splitlines()[-1])["calls_per_second"]}


def _count_of_family(process: int) -> float | None:
    """Of _COUNTED_SECONDS."""
    for _ in range(_TRIES):
        family = ",".join(map(str, _family(process)))
        perf = subprocess.run(
            ["perf", "stat", "-x", ",", "-e", "raw_syscalls:sys_enter", "-p", family, "sleep", str(_COUNTED_SECONDS)],
            env=os.environ | {"LC_ALL": "C"}, stderr=subprocess.PIPE, text=True, check=False)  # fmt: skip
        first = perf.stderr.split(",", 1)[0]
        if perf.returncode == 0 and first.isdigit():
            return float(first)
    print(f"system calls are not counted: {perf.stderr.strip()}", file=sys.stderr)
    return None


def _family(process: int) -> list[int]:
    """It and its children's children."""
    children = subprocess.run(["pgrep", "--parent", str(process)], stdout=subprocess.PIPE, text=True, check=False).stdout
    return [process, *(each for child in children.split() for each in _family(int(child)))]
