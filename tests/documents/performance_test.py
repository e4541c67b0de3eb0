#!/usr/bin/env python3
"""What docs/performance.md and its pages say that can be looked up: the tests that hold figures, and counts that are recorded."""

import json
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = [ROOT / "docs/performance.md", *sorted((ROOT / "docs/performance").glob("*.md"))]


def named_tests(text):
    return set(re.findall(r"`(?:[\w/]*[:/])?(\w+_test)(?:\.\w+)?`", text))


def tests_of_the_code():
    """Targets, and files of those that have several."""
    found = set()
    for folder in ("base", "benchmarks", "codegen", "examples", "rpc", "testing", "tests", "tools", "transport"):
        found.update(path.stem for ending in ("cc", "py") for path in (ROOT / folder).rglob(f"*_test.{ending}"))
        for path in (ROOT / folder).rglob("BUILD.bazel"):
            found.update(re.findall(r'"(\w+_test)"', path.read_text(encoding="utf-8")))
    return found


class PerformanceDocuments(unittest.TestCase):
    def test_tests_that_are_named_are_there(self):
        there = tests_of_the_code()
        for page in PAGES:
            with self.subTest(page.name):
                self.assertEqual(named_tests(page.read_text(encoding="utf-8")) - there, set())

    def test_budgets_say_what_holds_them(self):
        self.assertLessEqual({"ratios_test", "grpc_ratios_test", "call_cost_test", "kernel_ratios_test"},
                             named_tests(PAGES[0].read_text(encoding="utf-8")))

    def test_instructions_of_a_call_are_the_recorded_ones(self):
        recorded = json.loads((ROOT / "benchmarks/call_cost/baseline.json").read_text(encoding="utf-8"))
        row = next(line for line in PAGES[0].read_text(encoding="utf-8").splitlines()
                   if line.startswith("| Instructions of a call of 64 B"))  # fmt: skip
        for settings in ("in_flight=1", "in_flight=64"):
            self.assertIn(f"{recorded[settings]['instructions']:,}", row)


if __name__ == "__main__":
    unittest.main()
