"""The kinds of guests, and which one there is."""

import pathlib
import sys
from collections.abc import Callable, Mapping

import qemu_build
import uml_build
from errors import GuestError
from guest_run import Guest
from qemu_boot import Qemu
from uml_boot import UserModeLinux

GUESTS: dict[str, Callable[[], Guest]] = {
    "uml": lambda: UserModeLinux(uml_build.installed() or uml_build.install()),
    "qemu": lambda: Qemu(qemu_build.installed() or qemu_build.install()),
}
# Which sets it up and returns where.
INSTALL: dict[str, Callable[[], pathlib.Path]] = {
    "uml": lambda: uml_build.install().kernel.parent,
    "qemu": lambda: qemu_build.install().kernel.parent,
}


def guest_of(kind: str, guests: Mapping[str, Callable[[], Guest]] = GUESTS) -> Guest:
    """The one wanted. If that cannot be had, the other, and a line that says so loudly; GuestError: neither."""
    reasons = []
    for name in sorted(guests, key=lambda name: name != kind):
        try:
            guest = guests[name]()
        except GuestError as error:
            reasons.append(f"no {name}: {error}")
            continue
        if reasons:
            print(f"soft_roce: INSTEAD OF {kind.upper()} THE GUEST IS {name.upper()}: {reasons[0]}", file=sys.stderr)
        return guest
    raise GuestError("; ".join(reasons))
