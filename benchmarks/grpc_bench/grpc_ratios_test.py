"""Holds the budgets that are ratios to gRPC over a Unix socket, of the same .proto, with a margin of three: what breaks
here is broken, not noisy. docs/performance.md has what an idle machine measures. Usage: grpc_ratios_test.py RPC_BENCH
GRPC_BENCH
"""

import json
import pathlib
import subprocess
import sys
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "rpc_bench"))

from ratios import RatioTest

GRPC_BENCH = sys.argv.pop()
RPC_BENCH = sys.argv.pop()


def measure(program, *flags):
    result = subprocess.run([program, *flags], capture_output=True, text=True, timeout=120, check=False)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def measure_ours(*flags):
    return measure(RPC_BENCH, "--device=soft", "--wait=busy", "--seconds=0.2", "--rounds=2", "--json", *flags)


def measure_grpc(*flags):
    """Without a core for each end, and with one: what sleeps between messages may do better without."""
    return [measure(GRPC_BENCH, "--transport=unix", "--seconds=0.4", *flags, *pinned) for pinned in ([], ["--pinned"])]


class GrpcRatios(RatioTest):
    def test_latency_of_a_small_call(self):  # Budget: 30 times. Measured: 40 to 85.
        def ratio():
            ours = measure_ours()["p50_us"]
            return min(grpc["p50_us"] for grpc in measure_grpc()) / ours

        self.assert_at_least(10, ratio)

    def assert_calls_per_second(self, bound, *flags):
        def ratio():
            ours = measure_ours(*flags)["calls_per_second"]
            return ours / max(grpc["calls_per_second"] for grpc in measure_grpc(*flags))

        self.assert_at_least(bound, ratio)

    def test_small_calls_in_flight(self):  # Budget: 30 times. Measured: 57.
        self.assert_calls_per_second(10, "--in_flight=64")

    def test_large_bytes(self):  # Budget: 3 times. Measured: 3.3 to 4.6.
        self.assert_calls_per_second(1, "--payload=1048576", "--in_flight=16")

    def test_threads_that_block(self):  # No budget. Measured: 6.7.
        self.assert_calls_per_second(1, "--callers", "--in_flight=4")


class Refusals(unittest.TestCase):
    def test_callers_are_refused_in_words_what_they_do_not_do(self):
        for flags, words in (
            (["--connections=2"], "calls over one connection"),
            (["--in_flight=1025"], "--callers are at most 1024"),
        ):
            with self.subTest(flags=flags):
                result = subprocess.run(
                    [GRPC_BENCH, "--callers", *flags], capture_output=True, text=True, timeout=120, check=False
                )
                self.assertEqual(result.returncode, 1)
                self.assertIn(words, result.stderr)


if __name__ == "__main__":
    unittest.main()
