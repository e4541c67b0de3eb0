"""Runs the table of floors for moments: every row has its figures.

The figures themselves are not judged: a test machine is busy. Usage: soft_floor_test.py SOFT_FLOOR
"""

import json
import subprocess
import sys
import unittest

PROGRAM = sys.argv.pop()


def run(*flags):
    return subprocess.run([PROGRAM, *flags], capture_output=True, text=True, timeout=200, check=False)


class SoftFloor(unittest.TestCase):
    def test_every_row_has_figures(self):
        result = run("--seconds=0.05", "--rounds=1", "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        rows = json.loads(result.stdout)
        self.assertEqual(len(rows), 10)
        for row in rows:
            with self.subTest(what=row["what"]):
                if row["unit"] != "%":
                    self.assertGreater(row["figure"], 0)
                self.assertEqual(row["floor_figure"] > 0, row["floor"] != "")

    def test_text_for_people_has_the_rows_asked_for(self):
        result = run("--seconds=0.05", "--rounds=1", "--rows=32 in flight")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(len(result.stdout.strip().splitlines()), 2)

    def test_nonsense_is_refused_in_words(self):
        for flag, words in (("--seconds=0", "--seconds must be"), ("--seconds=nan", "--seconds must be"),
                            ("--rounds=0", "--rounds must be"), ("--rows=Token Ring", "no row's words contain"),
                            ("rows=TCP", "takes flags alone"), ("--role=king", "--role is unknown")):
            with self.subTest(flag=flag):
                result = run(flag)
                self.assertNotEqual(result.returncode, 0)
                self.assertIn(words, result.stderr)


if __name__ == "__main__":
    unittest.main()
