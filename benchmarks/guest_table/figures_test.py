#!/usr/bin/env python3
"""What is read from perftest's and rpc_bench's output, and the table that is made of it."""

import pathlib
import subprocess
import tempfile
import unittest

import figures

SEND_LAT = """\
---------------------------------------------------------------------------------------
 #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec]
Conflicting CPU frequency values detected: 2500.000000 != 2499.998000. CPU Frequency is not max.
 64      1000          80.11          330.27       90.50              95.02            12.10           140.00                  330.27
---------------------------------------------------------------------------------------
"""
READ_BW = """\
 #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]
 1048576    200            410.20             400.00               0.000400
"""


class FiguresTest(unittest.TestCase):
    def test_perftest_prints_one_way_and_binary_megabytes(self):
        self.assertEqual(figures.send_lat_us(SEND_LAT), 90.5)
        self.assertEqual(figures.read_bw_mbytes_per_second(READ_BW), 419.4304)

    def test_output_without_figures_is_an_error_that_shows_it(self):
        with self.assertRaisesRegex(ValueError, "Unable to connect"):
            figures.send_lat_us("Unable to connect")

    def test_a_table_has_medians_and_ratios(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            for number, p50 in enumerate((250, 181, 100), 1):
                (folder / f"send_lat.{number}").write_text(SEND_LAT)
                (folder / f"read_bw.{number}").write_text(READ_BW)
                (folder / f"call.{number}").write_text(f'{{"p50_us": {p50}}}')
                (folder / f"attachment.{number}").write_text('{"gbytes_per_second": 0.25}')
            medians = figures.read_medians(folder, 3)
        self.assertEqual(medians, figures.Medians(181, 181, 419.4304, 250))
        row = figures.table([(figures.Case("uml", "rxe", "event"), medians)]).splitlines()[2]
        self.assertEqual(row, "| rxe in uml, event | 181 µs | 181 µs | 1.00 | 419 MB/s | 250 MB/s | 0.60 |")


class OptionsTest(unittest.TestCase):
    def test_what_cannot_be_measured_or_written_is_refused_at_once(self):
        program = pathlib.Path(__file__).resolve().with_name("guest_table")
        for option in ("--rounds=0", "--seconds=0", "--seconds=nan", "--write=/nowhere/table.md", "--write=/dev/null"):
            with self.subTest(option=option):
                run = subprocess.run([program, option], stderr=subprocess.PIPE, text=True, check=False)
                self.assertEqual(run.returncode, 2)
                self.assertIn(f"error: {option.partition('=')[0]}", run.stderr)


if __name__ == "__main__":
    unittest.main()
