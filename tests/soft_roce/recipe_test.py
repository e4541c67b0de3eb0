#!/usr/bin/env python3
"""When a recipe counts as made, and what it says if it cannot be."""

import dataclasses
import os
import pathlib
import tempfile
import unittest
from unittest import mock

from errors import GuestError
from recipe import Recipe


class RecipeTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.source = pathlib.Path(folder.name, "source.c")
        self.source.write_text("1")
        self.cache = pathlib.Path(folder.name, "verbena/guest")
        patch = mock.patch.dict(os.environ, XDG_CACHE_HOME=folder.name)
        patch.start()
        self.addCleanup(patch.stop)
        self.recipe = Recipe("uml", "a-kernel", (self.source,), build=lambda version, folder, log: None)

    def make(self, version):
        folder = self.cache / f"uml-{version}-{self.recipe.digest()}"
        folder.mkdir(parents=True)
        return folder

    def test_what_it_made_is_installed_until_a_source_changes(self):
        self.assertIsNone(self.recipe.installed())
        made = self.make("6.1")
        self.assertEqual(self.recipe.installed(), made)
        self.source.write_text("2")
        self.assertIsNone(self.recipe.installed())

    def test_without_a_program_to_run_it_with_it_is_not_installed(self):
        self.make("6.1")
        recipe = dataclasses.replace(self.recipe, run_with=("no-such-emulator",))
        self.assertIsNone(recipe.installed())
        with self.assertRaisesRegex(GuestError, "no program no-such-emulator: run tools/install_deps.sh"):
            recipe.install()

    def test_a_program_that_only_the_build_needs_is_missed_by_the_build_alone(self):
        made = self.make("6.1")
        recipe = dataclasses.replace(self.recipe, built_with=("no-such-packer",))
        self.assertEqual(recipe.installed(), made)
        with self.assertRaisesRegex(GuestError, "no program no-such-packer"):
            recipe.install()

    def test_where_nothing_can_be_written_it_says_where(self):
        with tempfile.NamedTemporaryFile() as file, mock.patch.dict(os.environ, XDG_CACHE_HOME=file.name):
            with self.assertRaisesRegex(GuestError, f"cannot be built under {file.name}/verbena/guest: .*Not a directory"):
                self.recipe.install()


if __name__ == "__main__":
    unittest.main()
