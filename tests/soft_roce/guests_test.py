#!/usr/bin/env python3
"""Which guest one gets."""

import contextlib
import io
import unittest

from errors import GuestError
from guests import guest_of


class Present:
    """A kind that can be had."""

    def __init__(self, name):
        self._name = name

    def get(self):
        return NamedGuest(self._name)


class Absent(Present):
    def get(self):
        raise GuestError(f"{self._name} was never built")


class NamedGuest:
    def __init__(self, name):
        self.name = name


class GuestOfTest(unittest.TestCase):
    def choose(self, kind, unfit=(), **there):
        """The guest's name, and what was said."""
        said = io.StringIO()
        guests = {name: (Present if is_there else Absent)(name) for name, is_there in there.items()}
        with contextlib.redirect_stderr(said):
            guest = guest_of(kind, guests, lambda guest: "it stops" if guest.name in unfit else "")
        return guest.name, said.getvalue()

    def test_the_wanted_one_is_taken_without_a_word(self):
        self.assertEqual(self.choose("qemu", uml=True, qemu=True), ("qemu", ""))

    def test_the_other_one_stands_in_loudly(self):
        name, said = self.choose("uml", uml=False, qemu=True)
        self.assertEqual(name, "qemu")
        self.assertIn("INSTEAD OF UML THE GUEST IS QEMU: no uml: uml was never built", said)

    def test_the_other_one_stands_in_for_one_that_will_not_do(self):
        name, said = self.choose("uml", unfit=["uml"], uml=True, qemu=True)
        self.assertEqual(name, "qemu")
        self.assertIn("INSTEAD OF UML THE GUEST IS QEMU: no uml: it stops", said)

    def test_without_one_that_will_do_the_reasons_of_both_are_told(self):
        with self.assertRaisesRegex(GuestError, "no uml: it stops; no qemu: qemu was never built"):
            self.choose("uml", unfit=["uml"], uml=True, qemu=False)

    def test_without_any_the_reasons_of_both_are_told(self):
        with self.assertRaisesRegex(GuestError, "no uml: .*; no qemu: "):
            self.choose("uml", uml=False, qemu=False)


if __name__ == "__main__":
    unittest.main()
