"""An emulated machine with RDMA: Debian's own kernel as it is, and the module that it lacks, siw.

The kernel lies unpacked in the cache, because an emulated processor would take longer to unpack it than to boot it. A
first root in memory has the drivers of the machine's disks and lines, and guest/root_of_qemu.sh.
"""

import lzma
import os
import pathlib
import shutil
from collections.abc import Iterable

from build_step import BuildLog
from debian_packages import depends_on, unpack
from errors import GuestError
from recipe import Recipe

META_PACKAGE = "linux-image-amd64"  # Depends on the newest linux-image-VERSION-amd64.
SOURCE_PACKAGE = "linux-source-6.1"
KBUILD_PACKAGE = "linux-kbuild-6.1"
EMULATOR = "qemu-system-x86_64"
STATIC_SHELL = "/usr/bin/busybox"  # Of busybox-static.
HERE = pathlib.Path(__file__).resolve().parent
FIRST_ROOT = HERE / "guest/root_of_qemu.sh"

# What the first root needs to find the other: the bus, the host's folders, memory laid over them, the lines.
FIRST_MODULES = ("virtio_pci", "9pnet_virtio", "9p", "overlay", "virtio_console")
SIW = "drivers/infiniband/sw/siw"
XZ_MAGIC = b"\xfd7zXZ\0"
# Four fifths of what the kernel's package has, and nothing that a guest could use.
NOT_NEEDED = ("drivers/gpu", "drivers/media", "drivers/net/ethernet", "drivers/net/wireless", "drivers/scsi", "sound")


class Installation:
    """A kernel, its first root and its modules, in a folder of the cache."""

    def __init__(self, folder: pathlib.Path):
        self.kernel = folder / "vmlinux"
        self.first_root = folder / "first_root.cpio"
        self.modules = folder / "modules"  # Has lib/modules/VERSION.


def unpacked_kernel(image: bytes) -> bytes:
    """The ELF file in a kernel image that unpacks itself."""
    start = image.find(XZ_MAGIC)
    while start >= 0:
        try:
            kernel = lzma.LZMADecompressor().decompress(image[start:])
        except lzma.LZMAError:
            kernel = b""
        if kernel.startswith(b"\x7fELF"):
            return kernel
        start = image.find(XZ_MAGIC, start + 1)
    raise GuestError("Debian's kernel image holds no kernel packed with xz")


def load_order(dependencies: str, wanted: Iterable[str]) -> list[str]:
    """The files of modules and of what each needs, in an order to load them in. From depmod's modules.dep, whose lines
    are `file: what it needs, the last of it first`."""
    needs = {}
    for line in dependencies.splitlines():
        file, _, needed = line.partition(":")
        needs[pathlib.Path(file).stem] = [*reversed(needed.split()), file]
    order: list[str] = []
    for module in wanted:
        if module not in needs:
            raise GuestError(f"Debian's kernel has no module {module} of its own")
        order += [file for file in needs[module] if file not in order]
    return order


def _build(version: str, folder: pathlib.Path, log: BuildLog) -> None:
    log.start_over()
    work = folder / "work"
    work.mkdir()
    image_package = next(iter(depends_on(META_PACKAGE, version, "linux-image-")), None)
    if image_package is None:
        raise GuestError(f"{META_PACKAGE} {version} names no kernel package")
    release = image_package.removeprefix("linux-image-")
    log.say(f"unpacking Linux {release} for an emulated machine, once, in about a minute; see {log.path}")
    unpack(image_package, version, work / "image", log)
    (folder / "vmlinux").write_bytes(unpacked_kernel((work / f"image/boot/vmlinuz-{release}").read_bytes()))
    modules = folder / "modules/lib/modules" / release
    modules.parent.mkdir(parents=True)
    shutil.move(work / "image/lib/modules" / release, modules)
    for unused in NOT_NEEDED:
        shutil.rmtree(modules / "kernel" / unused, ignore_errors=True)
    log.say("the kernel is unpacked")
    _build_siw(release, version, work, modules, log)
    log.run(["depmod", "-b", str(folder / "modules"), release], work)
    _make_first_root(folder, release, work, log)
    shutil.rmtree(work)


def _build_siw(release: str, version: str, work: pathlib.Path, modules: pathlib.Path, log: BuildLog) -> None:
    headers = work / "headers"
    common = release.replace("-amd64", "-common")
    for package in (f"linux-headers-{release}", f"linux-headers-{common}", KBUILD_PACKAGE):
        unpack(package, version, headers, log)
    # The package's says /usr/src, where it would be if it were installed.
    tree = headers / "usr/src" / f"linux-headers-{release}"
    (tree / "Makefile").write_text(f"include {headers}/usr/src/linux-headers-{common}/Makefile\n", encoding="utf-8")
    unpack(SOURCE_PACKAGE, version, work / "source", log)
    archive = work / f"source/usr/src/{SOURCE_PACKAGE}.tar.xz"
    log.run(["tar", "--extract", f"--file={archive}", "--strip-components=1", f"{SOURCE_PACKAGE}/{SIW}"], work)
    log.run(["make", "-C", str(tree), f"M={work / SIW}", f"-j{os.cpu_count()}", "CONFIG_RDMA_SIW=m", "modules"], work)
    (modules / "extra").mkdir()
    log.run(["strip", "--strip-debug", "-o", str(modules / "extra/siw.ko"), str(work / SIW / "siw.ko")], work)
    log.say("siw is built")


def _make_first_root(folder: pathlib.Path, release: str, work: pathlib.Path, log: BuildLog) -> None:
    root = work / "first_root"
    for name in ("bin", "dev", "host", "memory", "modules", "proc", "sys", "whole"):
        (root / name).mkdir(parents=True)
    shutil.copy(STATIC_SHELL, root / "bin/busybox")
    shutil.copy(FIRST_ROOT, root / "init")
    modules = folder / "modules/lib/modules" / release
    for number, file in enumerate(load_order((modules / "modules.dep").read_text(encoding="utf-8"), FIRST_MODULES)):
        shutil.copy(modules / file, root / "modules" / f"{number:02}-{pathlib.Path(file).name}")
    archive = ["cpio", "--create", "--format=newc", "--owner=0:0", "--quiet", f"--file={folder / 'first_root.cpio'}"]
    log.run(archive, root, "".join(f"{path.relative_to(root)}\n" for path in sorted(root.rglob("*"))))


RECIPE = Recipe(
    kind="qemu",
    package=META_PACKAGE,
    sources=(pathlib.Path(__file__), FIRST_ROOT),
    build=_build,
    run_with=(EMULATOR,),
    built_with=(STATIC_SHELL, "cpio"),
)
