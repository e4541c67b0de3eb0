#!/usr/bin/env python3
"""What the cache promises: complete folders or none, built once."""

import pathlib
import tempfile
import threading
import unittest

from cache import cache_root, get_or_build, newest


class CacheTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name, "cache")

    def names(self):
        return sorted(path.name for path in self.root.iterdir() if path.is_dir())

    def test_what_was_built_is_not_built_again(self):
        built = []

        def build(folder):
            built.append(folder)
            (folder / "kernel").write_text("1")

        first = get_or_build(self.root, "uml-1", build)
        self.assertEqual(get_or_build(self.root, "uml-1", build), first)
        self.assertEqual((first / "kernel").read_text(), "1")
        self.assertEqual(len(built), 1)
        self.assertEqual(self.names(), ["uml-1"])

    def test_a_build_that_fails_leaves_nothing_and_can_be_repeated(self):
        def fail(folder):
            (folder / "half").write_text("")
            raise OSError("no network")

        with self.assertRaises(OSError):
            get_or_build(self.root, "uml-1", fail)
        self.assertEqual(self.names(), [])
        get_or_build(self.root, "uml-1", lambda folder: None)
        self.assertEqual(self.names(), ["uml-1"])

    def test_what_a_killed_build_left_is_removed_by_the_next(self):
        (self.root / ".building-uml-1-killed").mkdir(parents=True)
        (self.root / ".building-uml-2-running").mkdir()
        get_or_build(self.root, "uml-1", lambda folder: None)
        self.assertEqual(self.names(), [".building-uml-2-running", "uml-1"])

    def test_of_two_at_once_one_builds_and_the_other_waits_for_it(self):
        begun, may_end, built = threading.Event(), threading.Event(), []

        def build(folder):
            built.append(folder)
            begun.set()
            may_end.wait()

        found = []
        threads = [
            threading.Thread(target=lambda: found.append(get_or_build(self.root, "uml-1", build))) for _ in range(2)
        ]
        for thread in threads:
            thread.start()
        begun.wait()
        may_end.set()
        for thread in threads:
            thread.join()
        self.assertEqual(len(built), 1)
        self.assertEqual(found, [self.root / "uml-1"] * 2)

    def test_the_newest_is_of_the_wanted_kind_and_complete(self):
        self.assertIsNone(newest(self.root, "uml-*-abc"))
        for name in ("uml-1-abc", "uml-2-other", ".building-uml-3-abc"):
            (self.root / name).mkdir(parents=True)
        self.assertEqual(newest(self.root, "uml-*-abc"), self.root / "uml-1-abc")

    def test_it_lies_where_the_user_wants_caches(self):
        self.assertEqual(cache_root({"XDG_CACHE_HOME": "/c", "HOME": "/h"}), pathlib.Path("/c/verbena/guest"))
        self.assertEqual(cache_root({"HOME": "/h"}), pathlib.Path("/h/.cache/verbena/guest"))


if __name__ == "__main__":
    unittest.main()
