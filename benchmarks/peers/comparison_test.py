#!/usr/bin/env python3
"""What is made of the programs' figures."""

import unittest

import comparison
from comparison import Case, Figures, Row

UCX = """\
|    Stage     | # iterations | 50.0%ile | average | overall |  average |  overall |  average  |  overall  |
[thread 0]             17683      0.369    34.419    34.419        1.77       1.77       29054       29054
Final:                 20000      0.334    28.859    33.775        2.11       1.81       34651       29608
"""


class ComparisonTest(unittest.TestCase):
    def test_rounds_give_medians(self):
        rounds = [{"p50_us": 3, "calls_per_second": 10}, {"p50_us": 1, "calls_per_second": 30},
                  {"p50_us": 2, "calls_per_second": 20}]
        self.assertEqual(comparison.median(rounds), Figures(2, 20))

    def test_the_better_of_two_ways_is_taken_of_each_figure(self):
        self.assertEqual(comparison.better(Figures(50, 1000), Figures(60, 2000)), Figures(50, 2000))

    def test_ucx_prints_one_way(self):
        self.assertEqual(comparison.ucx_there_and_back_us(UCX), 0.668)

    def test_output_without_figures_is_an_error_that_shows_it(self):
        with self.assertRaisesRegex(ValueError, "cannot connect"):
            comparison.ucx_there_and_back_us("cannot connect")

    def test_ratios_are_how_much_better_ours_is_than_grpc_and_how_much_more_than_a_message(self):
        text = comparison.table([Row(Case(64, 1), Figures(2, 400_000), Figures(60, 20_000), 1.0, 0.8),
                                 Row(Case(1 << 20, 8), Figures(500, 8000), Figures(1000, 4000))])
        self.assertIn("| 64 B, 1 in flight | 2.0 us | 2.0 x | 2.5 x | 60 us | 30 | 400,000 | 20,000 | 20.0 |", text)
        self.assertIn("| 1 MiB, 8 in flight | 500.0 us |  |  | 1000 us | 2 | 8,000 | 4,000 | 2.0 |", text)


if __name__ == "__main__":
    unittest.main()
