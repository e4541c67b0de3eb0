"""The counting of tests/report/report.py, on reports made here."""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest
import unittest.mock
import xml.etree.ElementTree

import report
import skipping
from case_count import Count, count_program, read_cases

PASSES = '<testcase name="Passes" classname="Suite" status="run"/>'
FAILS = '<testcase name="Fails" classname="Suite" status="run"><failure message="no"/></testcase>'
CRASHES = '<testcase name="program"><error message="exited with error code 134"/></testcase>'
DISABLED = '<testcase name="DISABLED_Later" classname="Suite" status="notrun"/>'
SKIPS = '<testcase name="Skips" classname="Suite" status="run" result="skipped"><skipped message="a_test.cc:7&#x0A;no windows here"/></testcase>'


def completed(label, success=True):
    return {"id": {"targetCompleted": {"label": label}}, "completed": {"success": True} if success else {}}


class Report(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory(prefix="report %41 ")
        self.addCleanup(self.directory.cleanup)

    def result(self, label, cases, status="PASSED", attempt=1, shard=1):
        path = os.path.join(self.directory.name, f"{abs(hash((label, attempt, shard)))}.xml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"<testsuites><testsuite>{''.join(cases)}</testsuite></testsuites>")
        uri = "file://" + path.replace("%", "%25").replace(" ", "%20")
        outputs = [{"name": "test.log", "uri": "file:///nowhere"}, {"name": "test.xml", "uri": uri}]
        key = {"label": label, "run": 1, "shard": shard, "attempt": attempt}
        return {"id": {"testResult": key}, "testResult": {"status": status, "testActionOutput": outputs}}

    def assert_counts(self, events, status, passed, failed, skipped=0):
        counted = report.count(events, status)
        counts = (counted.passed, len(counted.failures), len(counted.skipped))
        self.assertEqual(counts, (passed, failed, skipped), counted)

    def test_cases_are_counted_not_programs(self):
        self.assert_counts([self.result("//a:a", [PASSES] * 3), self.result("//b:b", [PASSES])], 0, 4, 0)

    def test_failed_case_is_named(self):
        counted = report.count([self.result("//a:a", [PASSES, FAILS], "FAILED")], 3)
        self.assertEqual((counted.passed, counted.failures), (1, ["//a:a Suite.Fails"]))

    def test_crash_is_a_failure(self):
        self.assert_counts([self.result("//a:a", [CRASHES], "FAILED")], 3, 0, 1)

    def test_bad_end_without_a_failed_case_is_a_failure(self):
        self.assert_counts([self.result("//a:a", [PASSES], "TIMEOUT")], 3, 1, 1)

    def test_disabled_and_skipped_cases_are_neither_passed_nor_failed(self):
        self.assert_counts([self.result("//a:a", [PASSES, DISABLED, SKIPS])], 0, 1, 0, skipped=1)

    def test_program_of_skipped_cases_alone_does_not_pass(self):
        self.assert_counts([self.result("//a:a", [SKIPS]), self.result("//b:b", [PASSES])], 0, 1, 0, skipped=1)

    def test_program_without_a_report_counts_as_one(self):
        event = self.result("//a:a", [])
        event["testResult"]["testActionOutput"] = []
        self.assert_counts([event], 0, 1, 0)

    def test_program_of_which_a_filter_chose_nothing_is_not_counted(self):
        self.assert_counts([self.result("//a:a", []), self.result("//b:b", [PASSES])], 0, 1, 0)
        self.assert_counts([self.result("//a:a", [])], 0, 0, 1)

    def test_last_attempt_decides(self):
        events = [self.result("//a:a", [FAILS], "FAILED", 1), self.result("//a:a", [PASSES], "PASSED", 2)]
        self.assert_counts(events, 0, 1, 0)

    def test_shards_add_up(self):
        self.assert_counts([self.result("//a:a", [PASSES], shard=1), self.result("//a:a", [PASSES], shard=2)], 0, 2, 0)

    def test_target_that_does_not_build_is_a_failure(self):
        events = [completed("//a:a", success=False), completed("//b:b"), self.result("//b:b", [PASSES])]
        self.assert_counts(events, 1, 1, 1)

    def test_target_that_cannot_be_analyzed_is_a_failure(self):
        events = [{"id": {"configuredLabel": {"label": "//a:a"}}, "aborted": {"reason": "ANALYSIS_FAILURE"}}]
        self.assert_counts(events, 1, 0, 1)

    def test_pattern_that_cannot_be_loaded_is_a_failure(self):
        events = [{"id": {"pattern": {"pattern": ["//..."]}}, "aborted": {"reason": "LOADING_FAILURE"}}]
        self.assert_counts(events, 1, 0, 1)

    def test_failure_of_bazel_itself_is_never_lost(self):
        self.assert_counts([], 37, 0, 1)
        self.assert_counts([self.result("//a:a", [PASSES])], 1, 1, 1)

    def test_no_test_at_all_is_a_failure(self):
        self.assert_counts([], 0, 0, 1)

    def test_cut_off_events_are_read_as_far_as_they_go(self):
        path = os.path.join(self.directory.name, "events")
        with open(path, "w", encoding="utf-8") as file:
            file.write('{"id": {}}\n{"id": {"testRes')
        self.assertEqual(report.read_events(path), [{"id": {}}])
        self.assertEqual(report.read_events(path + ".missing"), [])

    def test_reason_of_a_skipped_case_is_told(self):
        cases = list(xml.etree.ElementTree.fromstring(f"<testsuite>{SKIPS}</testsuite>"))
        self.assertEqual(count_program("//a:a", cases, "").skipped, ["//a:a Suite.Skips: no windows here"])

    def test_programs_that_skip_themselves_do_not_pass(self):
        path = os.path.join(self.directory.name, "test.xml")
        with unittest.mock.patch.dict(os.environ, {"XML_OUTPUT_FILE": path}):
            skipping.skip("<no> windows")
            self.assertEqual(count_program("//a:a", read_cases(path), ""), Count(skipped=["//a:a: <no> windows"]))
            script = pathlib.Path(__file__).resolve().parents[2] / "transport/soft/heap/with_mappings_upward.sh"
            unable = {"PATH": os.path.join(self.directory.name, "empty")}
            subprocess.run(["/bin/sh", script, "none"], env=os.environ | unable, stderr=subprocess.DEVNULL, check=True)
        counted = count_program("//b:b", read_cases(path), "")
        self.assertEqual(counted, Count(skipped=["//b:b: no program may ask for that here"]))

    def test_counts_of_guests_are_added(self):
        path = os.path.join(self.directory.name, "counts.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"passed": 2, "failures": ["rxe: a"], "skipped": ["siw: no guest"]}, file)
        counted = Count(passed=1)
        report.add_guests(counted, path)
        self.assertEqual(counted, Count(3, ["rxe: a"], ["siw: no guest"]))

    def test_guests_that_left_no_counts_are_a_failure(self):
        counted = Count(passed=1)
        report.add_guests(counted, os.path.join(self.directory.name, "none"))
        self.assertEqual(len(counted.failures), 1)


if __name__ == "__main__":
    unittest.main()
