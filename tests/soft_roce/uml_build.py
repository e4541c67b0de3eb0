"""User Mode Linux with RDMA: Debian's own kernel, and eight modules that it lacks, built from Debian's source of it.

Debian configures that kernel without InfiniBand because it has neither I/O memory nor DMA. rxe and siw need neither,
so their sources compile outside of the kernel tree, with the options that the configuration lacks given by hand. The
few functions of other absent subsystems that they call stand in kernel_modules/.
"""

import gzip
import os
import pathlib
import shutil

from build_step import BuildLog
from debian_packages import unpack, versions
from errors import GuestError
from recipe import Recipe

KERNEL_PACKAGE = "user-mode-linux"
SOURCE_PACKAGE = "linux-source-6.1"
HERE = pathlib.Path(__file__).resolve().parent
ABSENT_SUBSYSTEMS = ("absent_irq_poll.c", "umem_dmabuf.c")
REGISTERS = HERE / "uml_registers.c"

# What the kernel's configuration lacks: y, or m for a module. Only the modules built here see it.
OPTIONS = {
    "INFINIBAND": "m",
    "INFINIBAND_USER_ACCESS": "m",
    "INFINIBAND_USER_MEM": "y",
    "INFINIBAND_ADDR_TRANS": "y",
    "INFINIBAND_ADDR_TRANS_CONFIGFS": "y",
    "INFINIBAND_VIRT_DMA": "y",
    "RDMA_RXE": "m",
    "RDMA_SIW": "m",
    "DIMLIB": "y",
    "IRQ_POLL": "y",
}
MODULES = ("ib_cm", "ib_core", "ib_uverbs", "iw_cm", "rdma_cm", "rdma_rxe", "rdma_ucm", "siw")

# Kbuild reads the Kconfig files of everything, but compiles little of it for modules: most sources stay packed.
NOT_NEEDED = (
    "*/Documentation/*.rst", "*/sound/*.[ch]", "*/tools/*/*.c", "*/drivers/gpu/*.[ch]", "*/drivers/media/*.[ch]",
    "*/drivers/net/*.[ch]", "*/drivers/staging/*.[ch]", "*/fs/*.c", "*.dts", "*.dtsi",
)


class Installation:
    """A kernel, what is loaded into it, and its modules, in a folder of the cache."""

    def __init__(self, folder: pathlib.Path):
        self.kernel = folder / "linux.uml"
        self.registers = folder / "registers.so"  # Loaded into it.
        self.modules = folder / "modules"  # Has lib/modules/VERSION.


def options_for_make() -> list[str]:
    return [f"CONFIG_{name}={value}" for name, value in OPTIONS.items()]


def options_for_compiler() -> str:
    return " ".join(f"-DCONFIG_{name}{'_MODULE' if value == 'm' else ''}=1" for name, value in OPTIONS.items())


def source_version(kernel_version: str, available: list[str]) -> str:
    """The version of the source package that the kernel was built from: "6.1.176-1" for "6.1.176"."""
    for version in available:
        if version.startswith(kernel_version + "-"):
            return version
    raise GuestError(f"{KERNEL_PACKAGE} is Linux {kernel_version}, and apt has no {SOURCE_PACKAGE} of that version, only "
                     f"{', '.join(available) or 'none'}: its modules cannot be built")


def _build(version: str, folder: pathlib.Path, log: BuildLog) -> None:
    log.start_over()
    work = folder / "work"
    work.mkdir()
    log.say(f"building the modules of {KERNEL_PACKAGE} {version}, once, in about two minutes; see {log.path}")
    unpack(KERNEL_PACKAGE, version, work / "kernel", log)
    kernel_version = next((work / "kernel/usr/lib/uml/modules").iterdir()).name
    source_package = source_version(kernel_version, versions(SOURCE_PACKAGE))
    unpack(SOURCE_PACKAGE, source_package, work / "package", log)
    log.say(f"downloaded Linux {kernel_version} and its source {source_package}")
    source = _unpack_source(work, log)
    _prepare(source, kernel_version, work, log)
    log.say("the source is unpacked and configured")
    built = _build_modules(source, work, log)
    log.say("the modules are built")
    _collect(folder, work, kernel_version, built, log)
    shutil.rmtree(work)


def _unpack_source(work: pathlib.Path, log: BuildLog) -> pathlib.Path:
    archive = work / f"package/usr/src/{SOURCE_PACKAGE}.tar.xz"
    log.run(["tar", "--extract", f"--file={archive}", *(f"--exclude={pattern}" for pattern in NOT_NEEDED)], work)
    shutil.rmtree(work / "package")
    return work / SOURCE_PACKAGE


def _prepare(source: pathlib.Path, kernel_version: str, work: pathlib.Path, log: BuildLog) -> None:
    """Brings the source to the state from which Debian built the kernel, as far as modules see it."""
    with open(source / ".config", "wb") as config:
        config.write(gzip.decompress((work / "kernel/usr/share/doc/user-mode-linux/config.gz").read_bytes()))
    log.run(["make", "-s", "ARCH=um", "olddefconfig"], source)
    log.run(["make", "-s", "ARCH=um", _jobs(), "modules_prepare"], source)
    release = (source / "include/config/kernel.release").read_text(encoding="utf-8").strip()
    if release != kernel_version:
        raise GuestError(f"the source calls itself {release}, the kernel {kernel_version}: its modules would not load")


def _build_modules(source: pathlib.Path, work: pathlib.Path, log: BuildLog) -> pathlib.Path:
    infiniband = work / "infiniband"
    core = infiniband / "core"
    shutil.copytree(source / "drivers/infiniband/core", core)
    for driver in ("rxe", "siw"):
        shutil.copytree(source / "drivers/infiniband/sw" / driver, infiniband / driver)
    for name in ("dim.c", "rdma_dim.c"):  # A library of the kernel that nothing else in it uses.
        text = (source / "lib/dim" / name).read_text(encoding="utf-8")
        (core / name).write_text("".join(line for line in text.splitlines(True) if "MODULE_LICENSE" not in line))
    for name in ABSENT_SUBSYSTEMS:
        shutil.copy(HERE / "kernel_modules" / name, core / name)
    makefile = core / "Makefile"
    makefile.write_text(
        makefile.read_text().replace("ib_core-y :=", "ib_core-y := absent_irq_poll.o dim.o rdma_dim.o", 1)
    )
    (infiniband / "Kbuild").write_text("obj-y += core/ rxe/ siw/\n")
    log.run(
        ["make", "ARCH=um", f"M={infiniband}", _jobs(), *options_for_make(), f"KCFLAGS={options_for_compiler()}",
         "KBUILD_MODPOST_WARN=1", "modules"],  # Without the kernel's symbol list, which Debian does not publish.
        source,
    )
    return infiniband


def _collect(
    folder: pathlib.Path, work: pathlib.Path, kernel_version: str, built: pathlib.Path, log: BuildLog
) -> None:
    modules = folder / "modules/lib/modules" / kernel_version
    modules.parent.mkdir(parents=True)
    shutil.move(work / "kernel/usr/lib/uml/modules" / kernel_version, modules)
    (modules / "extra").mkdir()
    files = {path.stem: path for path in built.rglob("*.ko")}
    missing = [name for name in MODULES if name not in files]
    if missing:
        raise GuestError(f"the build made no module {', '.join(missing)}; see {log.path}")
    for name in MODULES:
        log.run(["strip", "--strip-debug", "-o", str(modules / "extra" / f"{name}.ko"), str(files[name])], work)
    log.run(["depmod", "-b", str(folder / "modules"), kernel_version], work)
    shutil.move(work / "kernel/usr/bin/linux.uml", folder / "linux.uml")
    log.run(["gcc", "-O2", "-Wall", "-shared", "-fPIC", "-o", str(folder / "registers.so"), str(REGISTERS)], work)


def _jobs() -> str:
    return f"-j{os.cpu_count()}"


RECIPE = Recipe(
    kind="uml",
    package=KERNEL_PACKAGE,
    sources=(pathlib.Path(__file__), REGISTERS, *(HERE / "kernel_modules" / name for name in ABSENT_SUBSYSTEMS)),
    build=_build,
)
