"""One run of a command in a guest: what the guest is told, its output as it comes, how it ended.

The run's folder, which the guest sees at /run/verbena, holds

  parameters   assignments that the guest's scripts source
  command, environment, writable   lists, each item ended by a zero byte
  directory    where the command starts
  console      what the guest's kernel says, from its start
  status       written by the guest at the very end: the command's exit status
"""

import contextlib
import dataclasses
import os
import pathlib
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from typing import Protocol

from relay import copy_in_background, relay_terminal, terminal_settings

HERE = pathlib.Path(__file__).resolve().parent


@dataclasses.dataclass(frozen=True)
class Run:
    command: list[str]
    network: str  # A file of networks/; empty: none.
    memory_mb: int
    timeout_seconds: float
    writable: list[pathlib.Path]  # Folders of the host in which the guest really writes.
    terminal: bool  # The command talks to the terminal of this program.


class Guest(Protocol):
    """A kind of guest. What it starts with the descriptors of three lines must do as run_command.sh expects."""

    name: str
    slowness: int  # How many times as long as on the host a program may take.

    def parameters(self, run: Run) -> str: ...
    def environment(self, run: Run) -> dict[str, str]: ...
    def command_line(self, run: Run, folder: "RunFolder", output: int, errors: int, console: int) -> list[str]: ...


@dataclasses.dataclass(frozen=True)
class Outcome:
    status: int | None  # The command's; None: the guest ended without one.
    timed_out: bool
    console: str


class RunFolder:
    def __init__(self, path: pathlib.Path):
        self.path = path

    @property
    def console(self) -> pathlib.Path:
        return self.path / "console"

    def fill(self, run: Run, guest_parameters: str) -> None:
        common = assignments(
            TOOLS=str(HERE), NETWORK=run.network, TERMINAL=terminal_settings() if run.terminal else ""
        )
        (self.path / "parameters").write_text(common + guest_parameters, encoding="utf-8")
        (self.path / "command").write_bytes(zero_ended(map(os.fsencode, run.command)))
        variables = (name + b"=" + value for name, value in os.environb.items())
        (self.path / "environment").write_bytes(zero_ended(variables))
        (self.path / "writable").write_bytes(zero_ended(os.fsencode(folder.resolve()) for folder in run.writable))
        (self.path / "directory").write_bytes(os.fsencode(os.getcwd()))
        self.console.write_bytes(b"")

    def status(self) -> int | None:
        try:
            return int((self.path / "status").read_text(encoding="utf-8"))
        except (FileNotFoundError, ValueError):
            return None


def assignments(**values: str) -> str:
    return "".join(f"{name}={shlex.quote(value)}\n" for name, value in values.items())


def zero_ended(items: Iterator[bytes]) -> bytes:
    return b"".join(item + b"\0" for item in items)


def run_in(guest: Guest, run: Run) -> Outcome:
    """Boots, runs, and returns when the machine is off. Output goes to this program's."""
    folder = RunFolder(pathlib.Path(tempfile.mkdtemp(prefix="verbena-guest-")))
    try:
        folder.fill(run, guest.parameters(run))
        with open(folder.console, "ab") as console:
            timed_out = _boot(guest, run, folder, console.fileno())
        text = folder.console.read_text(encoding="utf-8", errors="replace")
        return Outcome(folder.status(), timed_out, text)
    finally:
        shutil.rmtree(folder.path, ignore_errors=True)


def _boot(guest: Guest, run: Run, folder: RunFolder, console: int) -> bool:
    """True if it was stopped because its time was over."""
    with contextlib.ExitStack() as stack:
        # The guest changes the flags of what it writes to, which may be shared with others: it gets pipes of our own.
        errors = stack.enter_context(copy_in_background(sys.stderr.buffer))
        lines = relay_terminal() if run.terminal else copy_in_background(sys.stdout.buffer)
        output = stack.enter_context(lines)
        process = subprocess.Popen(
            guest.command_line(run, folder, output, errors, console),
            stdin=subprocess.DEVNULL,
            stdout=console,
            stderr=console,
            env=os.environ | guest.environment(run),
            pass_fds=[output, errors, console],
            start_new_session=True,
        )
        try:
            with _killed_if_we_are(process.pid):
                process.wait(run.timeout_seconds)
            return False
        except subprocess.TimeoutExpired:
            return True
        finally:
            # The guest's own processes too, should it have left any.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@contextlib.contextmanager
def _killed_if_we_are(group: int) -> Iterator[None]:
    """Should this program be killed meanwhile, the process group goes too: it holds the guest's memory."""
    with subprocess.Popen(
        ["sh", "-c", f"read -r line; kill -KILL -{group}"], stdin=subprocess.PIPE, start_new_session=True
    ) as watcher:
        try:
            yield
        finally:
            watcher.kill()
