"""Runs one case of conformance_cases.py: a server and a client, or one program, on the software device."""

import dataclasses
import os
import pathlib
import re
import shlex
import signal
import socket
import subprocess
import tempfile
import time

CASE_SECONDS_MAX = 60  # Programs that poll wait for each other where other work has the cores.
READY_SECONDS_MAX = 10
READY_LOOK_SECONDS = 0.01  # The kernel's tables of sockets cannot be waited on.
LAST_WORDS_SECONDS = 1  # For the other program, when one has failed.
TRIES_MAX = 5  # Of a case whose `again_if` says that it has shown nothing.

OUR_PROGRAMS = pathlib.Path(__file__).resolve().parent / "pyverbs"

LISTENING_TCP = "0A"
LISTENING_UNIX = "00010000"  # The flag "accepts connections".


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What came of a case."""

    complaint: str  # Empty: it passed.
    crashed: bool  # By a signal other than the runner's: no gap excuses that.
    log: str
    seconds: float


class Program:
    """A child process in a process group of its own, with its output in a file."""

    def __init__(self, role, command, launcher, directory):
        self.role = role
        self.command = command
        self.ended_by_us = False
        self._output = tempfile.TemporaryFile(dir=directory)
        self._process = subprocess.Popen(
            [*launcher, *shlex.split(command)],
            stdin=subprocess.DEVNULL,
            stdout=self._output,
            stderr=subprocess.STDOUT,
            cwd=directory,
            start_new_session=True,
        )

    def running(self):
        return self._process.poll() is None

    def wait(self, deadline):
        """True if it has ended by `deadline`."""
        try:
            self._process.wait(max(0, deadline - time.monotonic()))
            return True
        except subprocess.TimeoutExpired:
            return False

    def end(self):
        if self.running():
            self.ended_by_us = True
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def output(self):
        self._output.seek(0)
        return self._output.read().decode(errors="replace")

    def crashed(self):
        return not self.ended_by_us and self._process.returncode is not None and self._process.returncode < 0

    def complaint(self):
        if self.ended_by_us:
            return f"the {self.role} did not end"
        status = self._process.returncode
        if status < 0:
            return f"the {self.role} was killed by {signal.Signals(-status).name}"
        return f"the {self.role} exited with {status}" if status else ""


def sanitizer_of(library):
    """The run-time library of the sanitizer that `library` was built with, or "". No program without it can load it."""
    headers = subprocess.run(["readelf", "-d", library], capture_output=True, text=True, check=True).stdout
    found = re.search(r"\[(lib(?:a|t|ub)san\.so[^\]]*)\]", headers)
    return found[1] if found else ""


def programs_of(case):
    return [shlex.split(command)[0] for command in (case.server, case.client) if command]


def run(case, launcher, directory):
    """`launcher` is the command that puts a program on the device, a list."""
    for _ in range(TRIES_MAX):
        outcome = _run_once(case, launcher, directory)
        if not outcome.complaint or outcome.crashed or not re.search(case.again_if, outcome.log):
            break
    return outcome


def _run_once(case, launcher, directory):
    began = time.monotonic()
    deadline = began + CASE_SECONDS_MAX
    port = _free_port()
    programs = []

    def start(role, command):
        program = Program(role, command.format(port=port, host="127.0.0.1", programs=OUR_PROGRAMS), launcher, directory)
        programs.append(program)
        return program

    try:
        complaint = _play(case, start, port, deadline)
    finally:
        for program in programs:
            program.end()
    log = "".join(f"--- {each.role}: {each.command}\n{each.output()}\n" for each in programs)
    crashed = any(program.crashed() for program in programs)
    return Outcome(complaint, crashed, log, time.monotonic() - began)


def _play(case, start, port, deadline):
    server = start("server", case.server) if case.server else None
    if server and not _ready(server, port, deadline):
        server.end()
        return server.complaint() or "the server ended without having listened"
    client = start("client", case.client)
    client.wait(deadline)
    complaint = _judge(client, case)
    if server is None:
        return complaint
    if not case.server_ends:
        return complaint or ("" if server.running() else "the server ended early")
    server.wait(min(deadline, time.monotonic() + LAST_WORDS_SECONDS) if complaint else deadline)
    return complaint or _judge(server, case, is_server=True)


def _judge(program, case, is_server=False):
    program.end()
    complaint = program.complaint()
    if complaint:
        return complaint
    output = program.output()
    bad = re.search(case.never_says, output, re.MULTILINE | re.IGNORECASE)
    if bad:
        return f'the {program.role} says "{bad.group(0)}"'
    if not is_server and not re.search(case.says, output, re.MULTILINE):
        return f'the {program.role} does not say "{case.says}"'
    return ""


def _free_port():
    """One that no TCP socket has; the device's ports are taken by their numbers too."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _ready(server, port, deadline):
    """Waits until the server listens on the TCP port or on the device's port of that number."""
    deadline = min(deadline, time.monotonic() + READY_SECONDS_MAX)
    while time.monotonic() < deadline and server.running():
        if _listens(port):
            return True
        time.sleep(READY_LOOK_SECONDS)
    return False


def _listens(port):
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for words in _rows(table):
            if words[1].endswith(f":{port:04X}") and words[3] == LISTENING_TCP:
                return True
    for words in _rows("/proc/net/unix"):
        if words[3] == LISTENING_UNIX and re.search(rf"@verbena-soft.*\b{port}\b", words[-1]):
            return True
    return False


def _rows(table):
    with open(table, encoding="utf-8") as lines:
        return [line.split() for line in lines][1:]
