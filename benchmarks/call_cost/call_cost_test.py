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
_PROGRAM = pathlib.Path(sys.argv.pop(1)).resolve()

_SKIP = sys.argv[1:] == ["--skip"]


@unittest.skipIf(_SKIP, "what is recorded is the cost of code that is built as by default")
class CallCostTest(unittest.TestCase):
    def test_counts_are_the_recorded_ones(self):
        for settings, recorded in json.loads((_HERE / "baseline.json").read_text()).items():
            with self.subTest(settings):
                measured = counts.measure(_PROGRAM, *(f"--{setting}" for setting in settings.split()))
                print(settings, measured.instructions)
                self.assertEqual(baseline.differences(measured, recorded), [])
                for layer in ("rpc", "transport", "protobuf", layers.DEVICE):
                    self.assertGreater(measured.instructions[layer], 100, f"{layer} was not counted")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
