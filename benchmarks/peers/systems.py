"""Who is compared, and how each is measured: one function for each way, which runs both ends of a program."""

import os
import pathlib
import subprocess
import sys
import time
from collections.abc import Callable
from typing import NamedTuple

import figures
import per_call
from figures import Figures
from per_call import ROOT, TIMEOUT_S
from rows import CALLERS, HANDLERS, ISSUER, Row

TARGETS = (per_call.CALL_COST_TARGET,
           *(f"//benchmarks/{name}" for name in ("rpc_bench", "raw_bench", "grpc_bench", "capnp_bench")))

_UCX_PORT = 13399
_FI_PINGPONG_PORT = 47592

# What ucx_perftest and fi_pingpong, which count messages, send in a round: as many as these bytes are, within bounds.
_MESSAGE_BYTES = 1 << 27
_MESSAGES_MIN = 10
_MESSAGES_MAX = 50_000

_SECOND_TRY_TIMES_AS_LONG = 8  # As the first, of a program that failed: it may have finished no call.

# gRPC's callbacks and handlers run on threads of its own, whoever makes the calls; they are not to block.
_OUR_THREADS = {"": [], CALLERS: ["--callers"], ISSUER: ["--issuer"], HANDLERS: ["--handler=blocking"]}
_GRPC_THREADS = {"": [], CALLERS: ["--callers"], ISSUER: [], HANDLERS: []}

Way = Callable[[Row, float], Figures]  # The row, and for how many seconds.


class Program(NamedTuple):
    """Whose system calls are counted."""

    command: Callable[[Row, float], list[str]]
    server_flag: str  # Of its other process, which it starts when calls begin.


class System(NamedTuple):
    key: str  # In JSON.
    title: str
    ways: tuple[Way, ...]  # Measured in each; the best of them counts.
    can: Callable[[Row], bool]  # Whether it has such a row.
    program: Program | None = None


def _own(program: str, row: Row, seconds: float, *arguments: str) -> list[str]:
    """How one of TARGETS is run."""
    payload = [f"--payload={row.payload_bytes}"]
    if row.attached:
        payload = ["--payload=0", f"--attachment={row.payload_bytes}"]
    return [str(per_call.PROGRAMS / program / program), *payload, f"--in_flight={row.in_flight}",
            f"--connections={row.connections}", f"--seconds={seconds}", *arguments]  # fmt: skip


def _way_to_call(row: Row, threads: dict[str, list[str]]) -> list[str]:
    """As our program and gRPC's take it."""
    return [*(["--streaming"] if row.streaming else []), *([f"--one_way={row.one_way}"] if row.one_way else []),
            *threads[row.threads], *([f"--rate={row.rate}"] if row.rate else [])]  # fmt: skip


def _rpc_bench(row: Row, seconds: float) -> list[str]:
    return _own("rpc_bench", row, seconds, "--device=soft", "--rounds=1", "--json", f"--wait={row.wait}",
                *_way_to_call(row, _OUR_THREADS))  # fmt: skip


def _of_json(row: Row, output: str) -> Figures:
    return figures.of_one_way_json(output) if row.one_way else figures.of_json(output)


def _verbena(row: Row, seconds: float) -> Figures:
    return _of_json(row, _output(_rpc_bench(row, seconds)))


def _raw(row: Row, seconds: float) -> Figures:
    """A stream's messages there and back are what raw_bench measures anyway. READs, by which attachments are fetched, are
    measured by rpc_bench."""
    if row.attached:
        return figures.of_raw_reads_json(_output(_rpc_bench(row, seconds)))
    return figures.of_json(_output(_own("raw_bench", row, seconds, "--pinned", f"--wait={row.wait}")))


def _pinned_or_not(program: str, *arguments: str) -> tuple[Way, Way]:
    """What sleeps between messages, however ours wait, may do better without a core for each end: the scheduler may
    wake it beside its peer."""
    def way(*pinned: str) -> Way:
        return lambda row, seconds: _of_json(
            row, _output(_own(program, row, seconds, *arguments, *_way_to_call(row, _GRPC_THREADS), *pinned)))  # fmt: skip

    return way("--pinned"), way()


def _over_unix_socket(program: str) -> Program:
    return Program(lambda row, seconds: _own(program, row, seconds, "--transport=unix", *_way_to_call(row, _GRPC_THREADS)),
                   "--serve")  # fmt: skip


def _ucx(transports: str) -> Way:
    def measure(row: Row, _seconds: float) -> Figures:
        count = _messages(row)
        environment = os.environ | {"UCX_TLS": transports, "UCX_LOG_LEVEL": "error"}
        server = ["ucx_perftest", "-p", str(_UCX_PORT), "-c", _cpus()[1]]
        client = ["ucx_perftest", "-p", str(_UCX_PORT), "-c", _cpus()[0], "127.0.0.1", "-t", "ucp_am_lat",
                  "-s", str(row.payload_bytes), "-n", str(count), "-w", str(count // 10)]  # fmt: skip
        said = [_both_ends(server, [*client, "-R", rank], _UCX_PORT, environment) for rank in ("50", "99")]
        return figures.of_ucx(*said)

    return measure


def _fi_pingpong(provider: str, endpoint: str) -> Way:
    def measure(row: Row, _seconds: float) -> Figures:
        server, client = (["taskset", "-c", cpu, "fi_pingpong", "-p", provider, "-e", endpoint, "-I",
                           str(_messages(row)), "-S", str(row.payload_bytes)] for cpu in reversed(_cpus()))  # fmt: skip
        return figures.of_fi_pingpong(_both_ends(server, [*client, "127.0.0.1"], _FI_PINGPONG_PORT, os.environ))

    return measure


def _everything(_row: Row) -> bool:
    return True


def _messages_there_and_back(row: Row) -> bool:
    return not row.rate and not row.threads and not row.one_way


def _payload_in_messages(row: Row) -> bool:
    return not row.attached


def _calls(row: Row) -> bool:
    """One follows another."""
    return _payload_in_messages(row) and not row.rate and not row.streaming and not row.threads


def _one_in_flight(row: Row) -> bool:
    return row.is_plain and row.in_flight == 1


SYSTEMS = (
    System("verbena", "Verbena", (_verbena,), _everything, Program(_rpc_bench, "--role=calls")),
    System("raw", "raw SEND", (_raw,), _messages_there_and_back),
    System("grpc_unix", "gRPC, Unix socket", _pinned_or_not("grpc_bench", "--transport=unix"), _payload_in_messages,
           _over_unix_socket("grpc_bench")),
    System("grpc_tcp", "gRPC, TCP", _pinned_or_not("grpc_bench", "--transport=tcp"), _payload_in_messages),
    System("capnp_unix", "Cap'n Proto, Unix socket", _pinned_or_not("capnp_bench", "--transport=unix"), _calls,
           _over_unix_socket("capnp_bench")),
    System("ucx_shm", "UCX, shared memory", (_ucx("shm"),), _one_in_flight),
    System("ucx_tcp", "UCX, TCP", (_ucx("tcp"),), _one_in_flight),
    System("libfabric_shm", "libfabric, shared memory (mean)", (_fi_pingpong("shm", "rdm"),), _one_in_flight),
    System("libfabric_tcp", "libfabric, TCP (mean)", (_fi_pingpong("tcp", "msg"),), _one_in_flight),
)  # fmt: skip


def count(row: Row) -> dict[str, dict[str, float]]:
    """What is counted of a call, by the keys of the systems of which something is. Raises subprocess.SubprocessError or
    RuntimeError if a program fails."""
    counts = {system.key: per_call.system_calls(row, *system.program)
              for system in SYSTEMS if system.program and system.can(row)}  # fmt: skip
    counts[SYSTEMS[0].key] |= per_call.of_callgrind(row)
    return counts


def measure(row: Row, rounds: int, seconds: float, systems: tuple[System, ...] = SYSTEMS) -> dict[str, Figures]:
    """By the keys of the systems that have such a row: the median of the rounds, in which they take turns.

    Raises subprocess.SubprocessError if a program takes very long, or fails twice, the second time with more seconds;
    its words are on standard error. RuntimeError if it ends early; ValueError if it says no figures.
    """
    able = [system for system in systems if system.can(row)]
    measured = {system.key: [[] for _ in system.ways] for system in able}
    for _ in range(rounds):
        for system in able:
            for way, into in zip(system.ways, measured[system.key]):
                into.append(_patiently(way, row, row.seconds(seconds)))
    return {key: figures.best([figures.median(way) for way in ways]) for key, ways in measured.items()}


def _patiently(way: Way, row: Row, seconds: float) -> Figures:
    """Much memory in flight may need more time than a round has until the first call is done."""
    try:
        return way(row, seconds)
    except subprocess.CalledProcessError as error:
        longer = max(seconds, min(_SECOND_TRY_TIMES_AS_LONG * seconds, TIMEOUT_S / 2))
        print(f"{error}\nonce more, for {longer:g} s", file=sys.stderr)
        return way(row, longer)


def _messages(row: Row) -> int:
    return min(_MESSAGES_MAX, max(_MESSAGES_MIN, _MESSAGE_BYTES // row.payload_bytes))


def _cpus() -> tuple[str, str]:
    """A core for each end, the client's and the server's; the same one twice if there is but one."""
    allowed = sorted(os.sched_getaffinity(0))
    return str(allowed[0]), str(allowed[min(1, len(allowed) - 1)])


def _output(command, environment=None) -> str:
    return subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True,
                          timeout=TIMEOUT_S).stdout  # fmt: skip


def _both_ends(server_command, client_command, port, environment) -> str:
    """What the client says."""
    with subprocess.Popen(server_command, env=environment, stdout=subprocess.DEVNULL) as server:
        try:
            _wait_for_listener(server, port)
            return _output(client_command, environment)
        finally:
            server.terminate()


def _wait_for_listener(server, port) -> None:
    """Until somebody listens there. Not by connecting: these servers serve one client."""
    listening = "0A"
    deadline = time.monotonic() + TIMEOUT_S
    while server.poll() is None:
        if time.monotonic() > deadline:
            raise RuntimeError(f"{server.args[0]} does not listen on port {port} after {TIMEOUT_S} s")
        for line in pathlib.Path("/proc/net/tcp").read_text(encoding="ascii").splitlines()[1:]:
            _, address, _, state = line.split()[:4]
            if state == listening and int(address.rsplit(":", 1)[1], 16) == port:
                return
        time.sleep(0.01)
    raise RuntimeError(f"{server.args[0]} ended with status {server.returncode} before it listened")
