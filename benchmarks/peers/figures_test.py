#!/usr/bin/env python3
"""What is read from the programs' output, and made of rounds and ways."""

import unittest

import figures
from figures import Figures

UCX = """\
|    Stage     | # iterations | {rank}%ile | average | overall |  average |  overall |  average  |  overall  |
[thread 0]             17683      0.369    34.419    34.419        1.77       1.77       29054       29054
Final:                 20000      {figure}    28.859    0.500        2.11       1.81       34651       29608
"""
FI_PINGPONG = """\
bytes   #sent   #ack     total       time     MB/sec    usec/xfer   Mxfers/sec
64      2k      =2k      250k        0.00s     93.70       0.68       1.46
"""


class FiguresTest(unittest.TestCase):
    def test_json_is_the_last_line(self):
        said = ('a log line\n{"p50_us": 2, "p99_us": 3, "p9999_us": 4, "calls_per_second": 400, '
                '"cpu_seconds_per_gib": 0.5, "more": 1}\n')
        self.assertEqual(figures.of_json(said), Figures(2, 3, None, 400, 4, 0.5))

    def test_raw_reads_are_counted_by_the_payload(self):
        said = '{"payload_bytes": 1000000, "p50_us": 50, "raw_p50_us": 40, "raw_read_gbytes_per_second": 8}\n'
        self.assertEqual(figures.of_raw_reads_json(said), Figures(None, None, None, 8000))

    def test_ucx_prints_one_way_and_one_percentile_in_a_run(self):
        runs = [UCX.format(rank=rank, figure=figure) for rank, figure in (("50.0", "0.334"), ("99.0", "0.700"))]
        self.assertEqual(figures.of_ucx(*runs), Figures(0.668, 1.4, 1.0, 1e6))

    def test_fi_pingpong_prints_the_mean_of_one_way(self):
        said = figures.of_fi_pingpong(FI_PINGPONG)
        self.assertEqual(said, Figures(None, None, 1.36, 1e6 / 1.36))
        self.assertEqual(said.typical_us, 1.36)

    def test_output_without_figures_is_an_error_that_shows_it(self):
        for read in (figures.of_fi_pingpong, lambda said: figures.of_ucx(said, said)):
            with self.assertRaisesRegex(ValueError, "cannot connect"):
                read("cannot connect")

    def test_rounds_give_medians_of_what_they_say(self):
        rounds = [Figures(3, None, 7, 10), Figures(1, None, 9, 30), Figures(2, None, 8, 20)]
        self.assertEqual(figures.median(rounds), Figures(2, None, 8, 20))

    def test_the_best_way_is_taken_for_each_figure(self):
        self.assertEqual(
            figures.best([Figures(50, 90, None, 1000, 99, 8), Figures(60, 80, None, 2000, None, 7)]),
            Figures(50, 80, None, 2000, 99, 7),
        )


if __name__ == "__main__":
    unittest.main()
