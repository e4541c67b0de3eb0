"""Holds the budgets of calls on a kernel's RDMA device, as ratios to raw verbs on it in the same run, with a margin of
three: what breaks here is broken, not noisy. docs/performance/kernel-devices.md has what an idle machine measures, and
how these raw verbs differ from perftest's.
In a guest (tests/soft_roce), where the environment says which device. Usage: kernel_ratios_test.py RPC_BENCH
"""

import os
import pathlib
import sys
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "rpc_bench"))

import bench
from ratios import RatioTest

HOST = "--host=" + os.environ["VERBENA_TEST_ADDRESS"].removeprefix("rdma://")
# The budget is 0.85 of the raw READs' bandwidth. Measured in uml: 0.54 to 0.61 on rxe and, where two pieces of memory
# are registered for each message, 0.29 to 0.35 on siw.
ATTACHMENTS = {"rxe0": 0.28, "siw0": 0.1}


def ratio_to_raw(*flags):
    return bench.measure("--wait=event", *flags, where=HOST)["ratio_to_raw"]


class KernelRatios(RatioTest):
    def test_small_call(self):  # Budget: 1.3 times the raw SEND there and back. Measured in uml: 1.6 to 2.9.
        self.assert_at_most(4, ratio_to_raw)

    def test_attachments(self):
        bound = ATTACHMENTS[os.environ["VERBENA_DEVICE"]]
        self.assert_at_least(bound, lambda: ratio_to_raw("--attachment=1048576", "--in_flight=8"))


if __name__ == "__main__":
    unittest.main()
