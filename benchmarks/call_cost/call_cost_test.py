#!/usr/bin/env python3
"""What a call costs stays what was recorded (baseline.json). Takes the program's path, and --skip if it is built another way."""

import json
import pathlib
import sys
import unittest

import baseline
import counts
import layers

_HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(_HERE.parents[1] / "tests/report"))
from skipping import skip  # noqa: E402

_PROGRAM = pathlib.Path(sys.argv.pop(1)).resolve()

_SKIP = sys.argv[1:] == ["--skip"]


# A connection without messages for 20 ms is idle and gives credits back (transport/protocol/grant_budget.h), which takes
# frames. So where the thread may have stood still for as long, other things were counted.
_IDLE_SECONDS = 0.02
_ATTEMPTS = 5


def _differences(settings, recorded):
    for _ in range(_ATTEMPTS):
        measured = counts.measure(_PROGRAM, *(f"--{setting}" for setting in settings.split()))
        print(settings, measured.instructions, f"kept waiting for {measured.seconds_kept_waiting:.3f} s")
        differences = baseline.differences(measured, recorded)
        if not differences or measured.seconds_kept_waiting < _IDLE_SECONDS:
            break
    for layer in ("rpc", "transport", "protobuf", layers.DEVICE):
        if measured.instructions[layer] <= 100:
            differences.append(f"{layer} was not counted")
    return differences


class CallCostTest(unittest.TestCase):
    def test_counts_are_the_recorded_ones(self):
        for settings, recorded in json.loads((_HERE / "baseline.json").read_text()).items():
            with self.subTest(settings):
                self.assertEqual(_differences(settings, recorded), [])


if __name__ == "__main__":
    if _SKIP:
        skip("what is recorded is the cost of code that is built as by default")
    else:
        unittest.main(argv=sys.argv[:1])
