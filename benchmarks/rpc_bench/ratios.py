"""Asserts on ratios of two measurements in one run. A busy machine spoils some: one run of a few is to be good."""

import unittest

ATTEMPTS = 5


class RatioTest(unittest.TestCase):
    def assert_at_most(self, bound, ratio_of_run):
        self._assert_once(f"at most {bound}", lambda ratio: ratio <= bound, ratio_of_run)

    def assert_at_least(self, bound, ratio_of_run):
        self._assert_once(f"at least {bound}", lambda ratio: ratio >= bound, ratio_of_run)

    def _assert_once(self, what, good, ratio_of_run):
        ratios = []
        while len(ratios) < ATTEMPTS:
            ratios.append(ratio_of_run())
            if good(ratios[-1]):
                return
        self.fail(f"in none of {ATTEMPTS} runs {what}: {ratios}")
