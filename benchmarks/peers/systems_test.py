#!/usr/bin/python3
"""That each system can be measured, and the outcome drawn: the real programs, for an instant. Takes the path of rpc_bench,
or --skip if programs are built another way."""

# Debian's own Python: what draws the charts is Debian's.
import sys

sys.dont_write_bytecode = True

import pathlib
import tempfile
import unittest
import unittest.mock

import charts
import per_call
import systems
from figures import Figures
from rows import CALLERS, HANDLERS, ISSUER, Row

sys.path.append(str(per_call.ROOT / "tests/report"))
from skipping import skip  # noqa: E402

_SKIP = sys.argv[1:] == ["--skip"]
if not _SKIP:
    per_call.PROGRAMS = pathlib.Path(sys.argv[1]).absolute().parents[1]

_SECONDS = 0.2
_MESSAGES_MAX = 1000  # Of programs that count messages. They poll: beside others each may wait for its turn.
_OF_ONE_CALL = {"verbena", "raw", "grpc_unix", "grpc_tcp", "capnp_unix", "ucx_shm", "ucx_tcp", "libfabric_shm", "libfabric_tcp"}
_OURS_AND_GRPC = {"verbena", "grpc_unix", "grpc_tcp"}
_MEASURED_BESIDE_EACH_OTHER = {
    Row(64, 1): _OF_ONE_CALL,
    Row(64, 16, "event", connections=10): {"verbena", "raw", "grpc_unix", "grpc_tcp", "capnp_unix"},
    Row(64, 16, streaming=True): _OURS_AND_GRPC | {"raw"},
    Row(64, 1, streaming=True, one_way="client"): _OURS_AND_GRPC,
    Row(64, 1, streaming=True, one_way="server"): _OURS_AND_GRPC,
    Row(64, 4, "adaptive", streaming=True, threads=CALLERS): _OURS_AND_GRPC,
    Row(64, 4, "adaptive", threads=CALLERS): _OURS_AND_GRPC,
    Row(64, 4, "adaptive", threads=ISSUER): _OURS_AND_GRPC,
    Row(64, 4, "adaptive", threads=HANDLERS): _OURS_AND_GRPC,
    Row(64 << 10, 4, attached=True): {"verbena", "raw"},
    Row(64, 16, "adaptive", rate=1000): _OURS_AND_GRPC,
}


@unittest.mock.patch.object(systems, "_MESSAGES_MAX", _MESSAGES_MAX)
class SystemsTest(unittest.TestCase):
    def test_each_has_figures_of_the_rows_that_it_is_measured_in(self):
        for row, keys in _MEASURED_BESIDE_EACH_OTHER.items():
            with self.subTest(str(row)):
                measured = systems.measure(row, rounds=1, seconds=_SECONDS)
                self.assertEqual(set(measured), keys)
                for key, figures in measured.items():
                    self.assertGreater(figures.calls_per_second, 0, key)
                    has_latency = not row.one_way and not (row.attached and key == "raw")  # READs are a stream.
                    self.assertEqual((figures.typical_us or 0) > 0, has_latency, key)

    def test_what_a_call_takes_is_counted(self):
        counted = systems.count(Row(64, 1))
        self.assertGreater(counted["verbena"]["instructions"], 1000)
        self.assertAlmostEqual(counted["verbena"]["doorbells"], 2, delta=0.2)

    def test_what_was_measured_is_drawn(self):
        measured = {Row(size, 1): {"verbena": Figures(2, 4, None, 400_000)} for size in (64, 1024)}
        with tempfile.TemporaryDirectory() as folder:
            for path in charts.draw(measured, pathlib.Path(folder)):
                self.assertIn("<svg", path.read_text(encoding="utf-8"))


if __name__ == "__main__":
    if _SKIP:
        skip("what is measured is built as by default")
    else:
        unittest.main(argv=sys.argv[:1])
