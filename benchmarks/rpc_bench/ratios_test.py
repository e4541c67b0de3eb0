"""Holds the budgets that are ratios of two measurements in one run, with a margin of three and more: what breaks here is
broken, not noisy. docs/performance.md has what an idle machine measures. Usage: ratios_test.py RPC_BENCH
"""

import unittest

from bench import measure
from ratios import RatioTest


class Ratios(RatioTest):
    def test_small_call_busy(self):  # Budget: 2 times the raw SEND there and back.
        self.assert_at_most(6, lambda: measure("--wait=busy")["ratio_to_raw"])

    def test_small_call_event(self):  # Budget: 1.3 times the raw SEND there and back.
        self.assert_at_most(4, lambda: measure("--wait=event")["ratio_to_raw"])

    def test_adaptive_is_like_busy(self):  # Budget: 1.2 times busy.
        def ratio():
            return measure("--wait=adaptive")["p50_us"] / measure("--wait=busy")["p50_us"]

        self.assert_at_most(4, ratio)

    def test_attachment(self):  # Budget: 0.9 times the raw READ.
        self.assert_at_least(0.3, lambda: measure("--wait=busy", "--attachment=1048576")["ratio_to_raw"])

    def test_small_call_beside_a_large_one(self):  # Budget: 3 times the 99th percentile alone. Measured: 1.4 to 4.4.
        for direction in ([], ["--beside_response"]):
            with self.subTest(direction=direction):

                def ratio():
                    figures = measure("--wait=busy", "--beside_attachment=67108864", *direction)
                    return max(figures[of] / figures["reference_" + of] for of in ("p50_us", "p99_us"))

                self.assert_at_most(12, ratio)

    def test_hundred_connections(self):  # Budget: 0.8 times one, with a thousand. Measured: 0.5.
        def ratio():
            flags = ("--wait=busy", "--in_flight=64")
            return measure("--connections=100", *flags)["calls_per_second"] / measure(*flags)["calls_per_second"]

        self.assert_at_least(0.15, ratio)

    def test_many_in_flight_are_many_calls(self):  # Not one after the other.
        def ratio():
            one = measure("--wait=busy")["calls_per_second"]
            return measure("--wait=busy", "--in_flight=64")["calls_per_second"] / one

        self.assert_at_least(1.2, ratio)

    def test_doorbells(self):  # Budget: 0.5 with 64 in flight. A count, of the client.
        self.assert_at_most(0.5, lambda: measure("--wait=busy", "--in_flight=64")["doorbells_per_call"])


if __name__ == "__main__":
    unittest.main()
