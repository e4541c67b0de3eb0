"""Runs the programs of a set-up: their output goes to one log, whose end is shown when one of them fails."""

import pathlib
import subprocess
import sys
import time

from errors import GuestError

LAST_LINES = 30


def tail(path: pathlib.Path, lines: int = LAST_LINES) -> str:
    text = path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
    return "\n".join(text.splitlines()[-lines:])


class BuildLog:
    def __init__(self, path: pathlib.Path):
        self.path = path
        self._began = time.monotonic()

    def start_over(self) -> None:
        """For who holds the lock of what is built: nobody else writes."""
        self.path.write_text("", encoding="utf-8")

    def say(self, what: str) -> None:
        """A line for the person who waits."""
        print(f"soft_roce: [{time.monotonic() - self._began:3.0f} s] {what}", file=sys.stderr, flush=True)

    def run(self, command: list[str], directory: pathlib.Path, typed: str = "") -> None:
        """`typed` is the command's standard input."""
        with open(self.path, "a", encoding="utf-8") as log:
            log.write(f"$ {' '.join(command)}\n")
            log.flush()
            try:
                status = subprocess.run(
                    command, cwd=directory, input=typed.encode(), stdout=log, stderr=log, check=False
                ).returncode
            except FileNotFoundError:
                raise GuestError(f"there is no program {command[0]}: run tools/install_deps.sh") from None
        if status != 0:
            raise GuestError(f"`{' '.join(command[:4])} ...` failed with status {status}; the end of {self.path}:\n"
                             f"{tail(self.path)}")
