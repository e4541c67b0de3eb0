"""How a User Mode Linux guest is started: a program of the host, with the host's file system and a file for memory."""

import os
import pathlib
import shutil

from guest_run import Run, RunFolder, assignments
from uml_build import HERE, Installation

NAME = "uml"
SHARED_MEMORY = pathlib.Path("/dev/shm")


class UserModeLinux:
    """One processor, without preemption; user code runs at the host's speed."""

    name = NAME
    slowness = 1

    def __init__(self, installation: Installation):
        self._installation = installation

    def parameters(self, run: Run) -> str:
        return assignments(
            GUEST=NAME,
            MODULES=str(self._installation.modules),
            OUTPUT="/dev/ttyS0",
            ERRORS="/dev/ttyS1",
            HOST_MHZ=_host_mhz(),
        )

    def environment(self, run: Run) -> dict[str, str]:
        return {
            "TMPDIR": str(memory_folder(run.memory_mb)),
            "HOME": os.environ.get("HOME", "/"),
            "LD_PRELOAD": str(self._installation.registers),
        }

    def command_line(self, run: Run, folder: RunFolder, output: int, errors: int, console: int) -> list[str]:
        """Descriptors are those of the lines' other ends; with a terminal, `output` carries both directions."""
        return [
            str(self._installation.kernel),
            f"mem={run.memory_mb}M",
            "rootfstype=hostfs",
            "rootflags=/",
            "ro",
            "printk.time=1",
            f'init="{HERE / "guest/root_of_uml.sh"}"',
            f'VERBENA_RUN="{folder.path}"',
            f"uml_dir={folder.path}/",
            "con=null",
            f"con0=null,fd:{console}",
            "ssl=null",
            f"ssl0=fd:{output}" if run.terminal else f"ssl0=null,fd:{output}",
            f"ssl1=null,fd:{errors}",
        ]


def memory_folder(memory_mb: int) -> pathlib.Path:
    """Where the guest's memory can lie: a file there is as good as memory, unless it is full before the guest is."""
    shared = SHARED_MEMORY
    if shared.is_dir() and shutil.disk_usage(shared).free >= memory_mb << 20:
        return shared
    return pathlib.Path(os.environ.get("TMPDIR") or "/var/tmp")


def _host_mhz() -> str:
    for line in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("cpu MHz"):
            return line.partition(":")[2].strip()
    return "1000.000"
