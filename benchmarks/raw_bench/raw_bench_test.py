"""Runs raw_bench for moments: it says what it measured, and refuses nonsense in words.

The figures themselves are not judged: a test machine is busy. Usage: raw_bench_test.py RAW_BENCH
"""

import json
import subprocess
import sys
import unittest

PROGRAM = sys.argv.pop()


def run(*flags):
    return subprocess.run([PROGRAM, "--pinned", *flags], capture_output=True, text=True, timeout=100, check=False)


class RawBench(unittest.TestCase):
    def test_messages_go_there_and_back_with_as_many_in_flight_as_wished(self):
        for payload, in_flight, connections in ((64, 1, 1), (64, 256, 1), (65536, 16, 1), (64, 64, 100), (0, 4, 8)):
            with self.subTest(payload=payload, in_flight=in_flight, connections=connections):
                result = run(f"--payload={payload}", f"--in_flight={in_flight}", f"--connections={connections}",
                             "--seconds=0.3")
                self.assertEqual(result.returncode, 0, result.stderr)
                figures = json.loads(result.stdout)
                self.assertEqual((figures["transport"], figures["payload_bytes"], figures["in_flight"]),
                                 ("soft", payload, in_flight))
                self.assertEqual((figures["connections"], figures["streaming"]), (connections, False))
                self.assertGreater(figures["calls"], 0)
                self.assertGreater(figures["p50_us"], 0)
                self.assertGreaterEqual(figures["p99_us"], figures["p50_us"])

    def test_both_ends_may_sleep(self):
        for wait in ("event", "adaptive"):
            with self.subTest(wait=wait):
                result = run("--in_flight=16", "--connections=4", "--seconds=0.3", f"--wait={wait}")
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertGreater(json.loads(result.stdout)["calls"], 0)

    def test_nonsense_is_refused_in_words(self):
        for flag, words in (("--seconds=0", "--seconds must be"), ("--in_flight=0", "--in_flight must be"),
                            ("--in_flight=4294967295", "--in_flight must be 1 to 8192"),
                            ("--payload=18446744073709551615", "payload"),
                            ("--payload=4294967296", "--payload must be 0 to 67108864"),
                            ("--connections=100000", "--connections must be 1 to 65536"),
                            ("--seconds=inf", "--seconds must be"),
                            ("--connections=0", "--connections must be"), ("--streaming", "raw_bench has no --streaming"),
                            ("--transport=pigeon", "--transport=pigeon is none of: soft"),
                            # More than nothing, and less than what a clock tells apart: none can end within it.
                            ("--seconds=3e-10", "no call was done")):
            with self.subTest(flag=flag):
                result = run(flag)
                self.assertEqual(result.returncode, 1)
                self.assertIn(words, result.stderr)

    def test_a_word_that_is_no_flag_is_not_passed_over(self):
        result = run("in_flight=8")
        self.assertEqual(result.returncode, 2)
        self.assertIn("takes flags alone", result.stderr)


if __name__ == "__main__":
    unittest.main()
