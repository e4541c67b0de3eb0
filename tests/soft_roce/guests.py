"""The kinds of guests, and which one there is."""

import dataclasses
import pathlib
import sys
from collections.abc import Callable, Mapping

import qemu_build
import uml_build
from errors import GuestError
from guest_run import Guest
from qemu_boot import Qemu
from recipe import Recipe
from uml_boot import UserModeLinux


@dataclasses.dataclass(frozen=True)
class Kind:
    recipe: Recipe
    guest: Callable[[pathlib.Path], Guest]  # Of what the recipe has made.

    def get(self) -> Guest:
        return self.guest(self.recipe.installed() or self.recipe.install())


GUESTS = {
    "uml": Kind(uml_build.RECIPE, lambda folder: UserModeLinux(uml_build.Installation(folder))),
    "qemu": Kind(qemu_build.RECIPE, lambda folder: Qemu(qemu_build.Installation(folder))),
}


def guest_of(
    kind: str, guests: Mapping[str, Kind] = GUESTS, why_not: Callable[[Guest], str] = lambda guest: ""
) -> Guest:
    """The one wanted. If that cannot be had, or `why_not` says why it will not do, the other, and a line that says so
    loudly; GuestError: neither."""
    reasons = []
    for name in sorted(guests, key=lambda name: name != kind):
        try:
            guest = guests[name].get()
            if why := why_not(guest):
                raise GuestError(why)
        except GuestError as error:
            reasons.append(f"no {name}: {error}")
            continue
        if reasons:
            print(f"soft_roce: INSTEAD OF {kind.upper()} THE GUEST IS {name.upper()}: {reasons[0]}", file=sys.stderr)
        return guest
    raise GuestError("; ".join(reasons))
