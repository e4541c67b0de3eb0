#!/usr/bin/env python3
"""How callgrind's files are read, to which layer a function belongs, and when counts differ from the recorded ones."""

import collections
import unittest

import baseline
import callgrind_profile
import counts
import layers
import locked_instructions

_FILE = """\
# callgrind format
version: 1
positions: line
events: Ir

ob=(1) /bin/call_cost
fl=(1) client.cc
fn=(1) verbena::rpc::Start()
10 30
+2 5
cob=(2) /lib/libc.so.6
cfi=(2) malloc.c
cfn=(2) malloc@@GLIBC_2.2.5
calls=4 100
12 400
* 7

fn=(3) verbena::soft::Poll()
20 100
cfn=(5) verbena::soft::QueuePair::PostSend(ibv_send_wr const*, ibv_send_wr const**)
calls=3 9
21 0
cfn=(6) verbena::soft::SharedReceiveQueue::Post(ibv_recv_wr const*, ibv_recv_wr const**)
calls=1 9
21 0
ob=(2)
fl=(2)
fn=(2)
100 400
cfn=(4) pthread_mutex_lock
calls=2 7
100 60
cfn=(7) __memcpy_avx_unaligned_erms
calls=4 7
100 60

totals: 542
"""


_FILE_WITH_ADDRESSES = """\
positions: instr line
events: Ir

ob=/bin/call_cost
fn=(1) verbena::rpc::Start()
0x1000 0 8
+3 0 8
cfn=(2) verbena::soft::Poll()
calls=8 0x2000 0
* 0 400
-1 0 2
fn=(2)
0x2000 0 8
"""

_DISASSEMBLY = """\
0000000000001000 <_ZN7verbena3rpc5StartEv>:
    1000:\tmov    %rax,(%rdi)
    1002:\tlock addl $0x1,0x8(%rax)
    1003:\txchg   %rax,(%rdi)
    1006:\txchg   %ax,%ax
    2000:\tmfence
"""


class LockedInstructionsTest(unittest.TestCase):
    def test_those_that_lock_are_told_from_those_that_do_not(self):
        self.assertEqual(locked_instructions.parse(_DISASSEMBLY.splitlines()), {0x1002, 0x1003, 0x2000})

    def test_what_is_no_disassembly_is_an_error(self):
        with self.assertRaisesRegex(ValueError, "no instruction"):
            locked_instructions.parse(["file format not recognized"])

    def test_those_of_the_program_without_the_device_are_counted(self):
        profile = callgrind_profile.parse(_FILE_WITH_ADDRESSES.splitlines(keepends=True))
        locked = locked_instructions.parse(_DISASSEMBLY.splitlines())
        self.assertEqual(counts.count(profile, 2, program="/bin/call_cost", locked=locked).locked_instructions, 5)
        self.assertEqual(counts.count(profile, 2, program="/bin/another", locked=locked).locked_instructions, 0)


class CallgrindProfileTest(unittest.TestCase):
    def test_a_functions_own_instructions_are_added_up_without_its_callees(self):
        profile = callgrind_profile.parse(_FILE.splitlines(keepends=True))
        self.assertEqual(dict(profile.instructions), {
            ("/bin/call_cost", "verbena::rpc::Start()"): 42,
            ("/bin/call_cost", "verbena::soft::Poll()"): 100,
            ("/lib/libc.so.6", "malloc@@GLIBC_2.2.5"): 400,
        })
        self.assertEqual(profile.total(), 542)
        self.assertEqual(profile.calls["malloc@@GLIBC_2.2.5"], 4)

    def test_executions_are_by_address_if_the_file_has_addresses(self):
        profile = callgrind_profile.parse(_FILE_WITH_ADDRESSES.splitlines(keepends=True))
        self.assertEqual(dict(profile.executions), {
            ("/bin/call_cost", "verbena::rpc::Start()", 0x1000): 8,
            ("/bin/call_cost", "verbena::rpc::Start()", 0x1003): 8,
            ("/bin/call_cost", "verbena::rpc::Start()", 0x1002): 2,
            ("/bin/call_cost", "verbena::soft::Poll()", 0x2000): 8,
        })
        self.assertEqual(profile.instructions["/bin/call_cost", "verbena::rpc::Start()"], 18)

    def test_what_is_no_profile_is_an_error(self):
        with self.assertRaisesRegex(ValueError, "nothing was collected"):
            callgrind_profile.parse(["version: 1\n"])
        with self.assertRaisesRegex(ValueError, "Segmentation"):
            callgrind_profile.parse(["Segmentation fault\n"])


class LayersTest(unittest.TestCase):
    def test_functions_have_layers(self):
        for (object_name, function), layer in {
            ("/bin/x", "verbena::soft::QueuePair::PostSend(ibv_send_wr const*)"): layers.DEVICE,
            ("/bin/x", "verbena::wire::DecodeFrame(int)"): "transport",
            ("/bin/x", "verbena::Metadata::Add()"): "rpc",
            ("/bin/x", "verbena::benchmarks::Bytes::ByteSizeLong() const"): "protobuf",
            ("/bin/x", "absl::debian3::Status::Unref(unsigned long)"): "absl",
            ("/bin/x", "void absl::AnyInvocable<verbena::rpc::HandlerToken>(int)"): "rpc",
            ("/lib/libprotobuf.so.32", "std::string::assign()"): "protobuf",
            ("/lib/x86_64-linux-gnu/libc.so.6", "malloc"): "libc",
            ("/bin/x", "main"): "other",
        }.items():
            self.assertEqual(layers.layer_of(object_name, function), layer, function)


class CountsTest(unittest.TestCase):
    def test_counts_are_for_each_call(self):
        counted = counts.count(callgrind_profile.parse(_FILE.splitlines()), 2)
        self.assertEqual(counted.instructions["rpc"], 21)
        self.assertEqual(counted.without_device(), 221)
        self.assertEqual(counted.allocations, 2)
        self.assertEqual(counted.locks, 1)
        self.assertEqual(counted.system_calls, 0)
        self.assertEqual(counted.doorbells, 1.5)
        self.assertEqual(counted.receive_posts, 0.5)
        self.assertEqual(counted.copies, 2)

    def test_system_calls_by_the_clock_are_no_calls(self):
        profile = callgrind_profile.Profile(collections.Counter(), collections.Counter({"epoll_wait": 50, "write": 10}))
        self.assertEqual(counts.count(profile, 20).system_calls, 3)
        self.assertEqual(counts.count(profile, 20, seconds=2).system_calls, 1)
        self.assertEqual(counts.count(profile, 20, seconds=9).system_calls, 0)


class BaselineTest(unittest.TestCase):
    _RECORDED = {"instructions": 1000, "allocations": 0.0, "locks": 0.0, "system_calls": 0.0, "doorbells": 2.0}

    def _differences(self, instructions, **numbers):
        numbers = {"allocations": 0.0, "locks": 0.0, "system_calls": 0.0, "doorbells": 2.0} | numbers
        return baseline.differences(counts.Counts({"rpc": instructions, layers.DEVICE: 9}, **numbers), self._RECORDED)

    def test_the_recorded_counts_differ_in_nothing(self):
        self.assertEqual(self._differences(1000), [])
        self.assertEqual(self._differences(1015), [])

    def test_more_instructions_are_told(self):
        self.assertRegex(self._differences(1100)[0], "1100 instructions")

    def test_fewer_are_to_be_recorded(self):
        self.assertRegex(self._differences(900)[0], "baseline.json")

    def test_more_than_the_budget_is_told_though_it_is_little_more(self):
        measured = counts.Counts({"rpc": 1015, layers.DEVICE: 9}, doorbells=2.0)
        self.assertEqual(baseline.differences(measured, self._RECORDED | {"budget": 1020}), [])
        self.assertRegex(baseline.differences(measured, self._RECORDED | {"budget": 1010})[0], "budget is 1010")

    def test_fewer_doorbells_are_to_be_recorded(self):
        self.assertRegex(self._differences(1000, doorbells=1.9)[0], "baseline.json")

    def test_an_allocation_in_ten_calls_is_told(self):
        self.assertRegex(self._differences(1000, allocations=0.1)[0], "0.10 allocations")

    def test_an_allocation_is_told(self):
        self.assertRegex(self._differences(1000, allocations=1.0)[0], "1.00 allocations")

    def test_a_locked_instruction_is_told(self):
        measured = counts.Counts({"rpc": 1000, layers.DEVICE: 9}, locked_instructions=3.0)
        self.assertRegex(baseline.differences(measured, {"locked_instructions": 2.0})[0], "3.00 locked instructions")

    def test_a_copy_and_a_post_of_receives_are_told(self):
        measured = counts.Counts({"rpc": 1000, layers.DEVICE: 9}, receive_posts=0.02, copies=9.0)
        self.assertEqual(baseline.differences(measured, {"receive_posts": 0.01, "copies": 8.0}),
                         ["0.020 receive posts; recorded are 0.01", "9.00 copies; recorded are 8.0"])

    def test_a_doorbell_is_told(self):
        self.assertRegex(self._differences(1000, doorbells=2.1)[0], "2.10 doorbells")

    def test_the_transports_instructions_are_held_where_they_are_recorded(self):
        measured = counts.Counts({"transport": 1100, layers.DEVICE: 9})
        self.assertRegex(baseline.differences(measured, {"transport": 1000})[0], "1100 instructions of the transport")
        self.assertRegex(baseline.differences(measured, {"transport": 1200})[0], "baseline.json")
        self.assertEqual(baseline.differences(measured, {"transport": 1090}), [])

    def test_what_varies_more_has_slack_of_its_own(self):
        measured = counts.Counts({"rpc": 1000}, locked_instructions=14.0)
        recorded = {"locked_instructions": 13.0, "slack": {"locked_instructions": 1.5}}
        self.assertEqual(baseline.differences(measured, recorded), [])
        self.assertEqual(len(baseline.differences(measured, recorded | {"slack": {}})), 1)

    def test_what_is_not_recorded_is_not_held(self):
        measured = counts.Counts({"rpc": 5000}, allocations=1.0, locks=7.0, doorbells=2.0)
        wrong = baseline.differences(measured, {"allocations": 0.0, "doorbells": 2.0})
        self.assertEqual(len(wrong), 1)
        self.assertRegex(wrong[0], "1.00 allocations")


if __name__ == "__main__":
    unittest.main()
