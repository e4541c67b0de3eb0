"""How an emulated machine is started: qemu with the host's root as a folder, and a terminal line for each output."""

import os
import pathlib

from guest_run import Run, RunFolder, assignments
from qemu_build import EMULATOR, Installation

NAME = "qemu"
PROCESSORS = 2


class Qemu:
    """Two processors that really run side by side, and five to fifteen times slower than the host's."""

    name = NAME
    slowness = 10

    def __init__(self, installation: Installation):
        self._installation = installation

    def parameters(self, run: Run) -> str:
        return assignments(
            GUEST=NAME, MODULES=str(self._installation.modules), OUTPUT="/dev/hvc0", ERRORS="/dev/hvc1"
        )

    def environment(self, run: Run) -> dict[str, str]:
        return {}

    def command_line(self, run: Run, folder: RunFolder, output: int, errors: int, console: int) -> list[str]:
        line = f"serial,path={os.ttyname(output)}" if run.terminal else f"file,path=/dev/fd/{output},append=on"
        return [
            EMULATOR, "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
            "-machine", "q35",
            "-accel", "tcg,thread=multi,tb-size=512",
            "-cpu", "Nehalem",  # What the emulation has all of.
            "-smp", str(PROCESSORS),
            *_memory(run.memory_mb),
            "-kernel", str(self._installation.kernel),
            "-initrd", str(self._installation.first_root),
            "-append", "console=ttyS0 panic=-1 mitigations=off nokaslr no_timer_check random.trust_cpu=on audit=0",
            "-chardev", f"file,id=console,path=/dev/fd/{console},append=on",
            "-serial", "chardev:console",
            "-device", "virtio-serial-pci",
            "-chardev", f"{line},id=output", "-device", "virtconsole,chardev=output",
            "-chardev", f"file,path=/dev/fd/{errors},append=on,id=errors", "-device", "virtconsole,chardev=errors",
            *_folder("host", pathlib.Path("/"), "readonly=on,multidevs=remap"),
            *_folder("run", folder.path),
            *(
                part
                for number, path in enumerate(run.writable)
                for part in _folder(f"writable{number}", path.resolve())
            ),
        ]  # fmt: skip


def _memory(megabytes: int) -> list[str]:
    """A node for each processor (NUMA)."""
    each = -(-megabytes // PROCESSORS)
    options = ["-m", f"{each * PROCESSORS}M"]
    for node in range(PROCESSORS):
        options += ["-object", f"memory-backend-ram,id=memory{node},size={each}M"]
        options += ["-numa", f"node,nodeid={node},cpus={node},memdev=memory{node}"]
    return options


def _folder(tag: str, path: pathlib.Path, options: str = "multidevs=remap") -> list[str]:
    """A folder of the host that the guest mounts by its tag."""
    escaped = str(path).replace(",", ",,")
    return [
        "-fsdev", f"local,id={tag},path={escaped},security_model=none,{options}",
        "-device", f"virtio-9p-pci,fsdev={tag},mount_tag={tag}",
    ]  # fmt: skip
