#!/usr/bin/env python3
"""What is made of the two programs' figures."""

import unittest

import comparison
from comparison import Case, Figures


class ComparisonTest(unittest.TestCase):
    def test_rounds_give_medians(self):
        rounds = [{"p50_us": 3, "calls_per_second": 10}, {"p50_us": 1, "calls_per_second": 30},
                  {"p50_us": 2, "calls_per_second": 20}]
        self.assertEqual(comparison.median(rounds), Figures(2, 20))

    def test_the_better_of_two_ways_is_taken_of_each_figure(self):
        self.assertEqual(comparison.better(Figures(50, 1000), Figures(60, 2000)), Figures(50, 2000))

    def test_ratios_are_how_much_better_ours_is(self):
        text = comparison.table([(Case(64, 1), Figures(2, 400_000), Figures(60, 20_000)),
                                 (Case(1 << 20, 8), Figures(500, 8000), Figures(1000, 4000))])
        self.assertIn("| 64 B, 1 in flight | 2.0 us | 60 us | 30 | 400,000 | 20,000 | 20.0 |", text)
        self.assertIn("| 1 MiB, 8 in flight | 500.0 us | 1000 us | 2 | 8,000 | 4,000 | 2.0 |", text)


if __name__ == "__main__":
    unittest.main()
