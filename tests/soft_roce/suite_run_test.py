#!/usr/bin/env python3
"""What the suite counts of a program that ran in a guest, from what it left; with a scripted guest for a guest."""

import pathlib
import subprocess
import tempfile
import unittest

import device_counters
import suite_programs
import suite_run
from guest_run import Outcome
from suite_programs import Program
from suite_run import Suite

CASES = (
    '<testsuites><testsuite><testcase name="A" classname="S" status="run"/>'
    '<testcase name="B" classname="S" status="run">{}</testcase></testsuite></testsuites>'
)
PASSES, FAILS = CASES.format(""), CASES.format('<failure message="no"/>')
PROGRAM = Program("//a:a_test", fault_free=True, left_out=(("siw", "S.Slow", "a gibibyte takes 60 s"),))
ENDED = Outcome(status=0, timed_out=False, console="")
DIED = Outcome(status=None, timed_out=False, console="boot\nKernel panic\n")


def counters(rnr, packets=7):
    folder = "/sys/class/infiniband/rxe0/ports/1/hw_counters"
    return f"{folder}/send_rnr_err:{rnr}\n{folder}/sent_pkts:{packets}\n{folder}/completer_retry_err:{packets}\n"


class DeviceCounters(unittest.TestCase):
    def test_growth_is_said_of_those_that_must_not_grow(self):
        before, after = device_counters.parse(counters(1)), device_counters.parse(counters(3, 900))
        self.assertEqual(device_counters.growth(before, after), ["rxe0/1/send_rnr_err grew from 1 to 3"])

    def test_a_counter_that_was_not_there_before_began_at_zero(self):
        self.assertEqual(len(device_counters.growth({}, device_counters.parse(counters(1)))), 1)

    def test_every_name_of_rxe_for_rnr_and_retries_that_were_exceeded_is_watched(self):
        names = ["rcvd_rnr_err", "send_rnr_err", "retry_exceeded_err", "retry_rnr_exceeded_err", "sent_pkts"]
        self.assertEqual(device_counters.watched(dict.fromkeys(names, 0)), names[:4])

    def test_what_is_no_counter_is_passed_over(self):
        self.assertEqual(device_counters.parse("\ngrep: no such file\n/sys/x:1\n"), {})


class Counting(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="suite-")
        self.addCleanup(self.folder.cleanup)
        self.path = pathlib.Path(self.folder.name)

    def leave(self, **files):
        for name, text in files.items():
            (self.path / name.replace("_xml", ".xml")).write_text(text, encoding="utf-8")

    def count(self, device="rxe", program=PROGRAM, outcome=ENDED):
        return suite_run.count(device, program, self.path, outcome)

    def test_cases_are_counted_and_the_counters_as_one_more(self):
        self.leave(cases_xml=PASSES, status="0\n", before=counters(2), after=counters(2))
        result = self.count()
        self.assertEqual((result.passed, result.failures, result.skipped), (3, [], []))

    def test_a_counter_that_grew_is_a_failure(self):
        self.leave(cases_xml=PASSES, status="0\n", before=counters(2), after=counters(3))
        result = self.count()
        self.assertEqual(result.passed, 2)
        self.assertEqual(
            result.failures, ["rxe a_test: the device's counter rxe0/1/send_rnr_err grew from 2 to 3"]
        )

    def test_a_device_that_counts_no_faults_adds_nothing(self):
        self.leave(cases_xml=PASSES, status="0\n", before="", after="")
        self.assertEqual(self.count().passed, 2)

    def test_counters_may_grow_where_something_dies(self):
        self.leave(cases_xml=PASSES, status="0\n", before=counters(2), after=counters(9))
        result = self.count(program=Program("//a:a_test"))
        self.assertEqual((result.passed, result.failures), (2, []))

    def test_a_failed_case_is_named_once(self):
        self.leave(cases_xml=FAILS, status="1\n")
        self.assertEqual(self.count().failures, ["rxe a_test S.B"])

    def test_what_is_left_out_is_skipped_with_its_reason(self):
        self.leave(cases_xml=PASSES, status="0\n")
        self.assertEqual(self.count("siw").skipped, ["siw a_test S.Slow: a gibibyte takes 60 s"])
        self.assertEqual(self.count("rxe").skipped, [])

    def test_a_program_without_a_report_counts_as_one(self):
        self.leave(status="0\n")
        self.assertEqual(self.count().passed, 1)
        self.leave(status="2\n")
        self.assertEqual(self.count().failures, ["rxe a_test: exit status 2"])

    def test_a_guest_that_died_and_one_that_hung_are_failures(self):
        self.assertEqual(self.count(outcome=DIED).failures, ["rxe a_test: the guest died"])
        hung = Outcome(status=None, timed_out=True, console="")
        self.assertEqual(self.count(outcome=hung).failures, ["rxe a_test: no end within its time"])


class ShellGuest:
    """Runs a line of the shell instead, in which $RUN is the run's folder and $CONSOLE a descriptor."""

    name = "shell"

    def __init__(self, line, slowness=1):
        self._line = line
        self.slowness = slowness

    def parameters(self, run):
        return ""

    def environment(self, run):
        return {}

    def command_line(self, run, folder, output, errors, console):
        return ["bash", "-c", f"RUN={folder.path} CONSOLE={console}; {self._line}"]


class Networks(unittest.TestCase):
    def test_a_program_on_a_wire_has_the_two_devices_of_its_kind(self):
        on_a_wire = Program("//a:wire_test", on_a_wire=True)
        self.assertEqual(suite_programs.network_of(on_a_wire, "siw"), "siw_two_namespaces")
        self.assertEqual(suite_programs.network_of(PROGRAM, "siw"), "siw")


class Running(unittest.TestCase):
    def test_without_a_guest_all_is_skipped_and_said_loudly(self):
        said = []
        nowhere = pathlib.Path("/nonexistent")
        guest = ShellGuest("echo no such module >&$CONSOLE")
        result = suite_run.run_on("siw", [PROGRAM], Suite(guest, nowhere, nowhere, said.append))
        self.assertEqual((result.passed, result.failures), (0, []))
        self.assertEqual(result.skipped, ["siw: no guest, 1 programs did not run"])
        self.assertIn("NOT TESTED", said[0])
        self.assertIn("no such module", said[0])

    def test_a_slow_guest_skips_what_is_not_meant_for_it(self):
        nowhere = pathlib.Path("/nonexistent")
        guest = ShellGuest("echo 0 >$RUN/status", slowness=10)
        result = suite_run.run_on("rxe", [PROGRAM], Suite(guest, nowhere, nowhere, lambda text: None))
        self.assertEqual((result.passed, result.failures), (0, []))
        self.assertEqual(result.skipped, ["rxe a_test: takes too long in shell"])


class Options(unittest.TestCase):
    def refusal(self, *arguments):
        """The last line of run_suite's words."""
        program = suite_run.HERE / "run_suite"
        run = subprocess.run([program, *arguments], stderr=subprocess.PIPE, text=True, check=False)
        self.assertEqual(run.returncode, 2)
        return run.stderr.splitlines()[-1]

    def test_a_program_that_no_chosen_device_runs_is_refused(self):
        self.assertIn("placement_test: not for siw", self.refusal("--device=siw", "placement_test"))

    def test_a_folder_in_which_something_is_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "rxe").mkdir()
            self.assertIn("no empty folder", self.refusal(f"--output={folder}"))


if __name__ == "__main__":
    unittest.main()
