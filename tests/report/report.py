#!/usr/bin/env python3
"""Counts what a `bazel test` did, test case by test case, and closes with the line `N passed, N failed`.

    report.py EVENTS BAZEL_STATUS

EVENTS is the file that --build_event_json_file wrote, BAZEL_STATUS is bazel's exit status. A test program counts as
many tests as its test.xml has cases; one that leaves no report, does not end well, or does not build counts as one
failure at least, and so does anything else that made bazel fail. Exits with 0 only if nothing failed and something ran.
"""

import dataclasses
import json
import sys
import urllib.parse
import xml.etree.ElementTree


@dataclasses.dataclass
class Count:
    passed: int = 0
    failures: list = dataclasses.field(default_factory=list)  # In words, one for each.
    skipped: list = dataclasses.field(default_factory=list)


def count(events, bazel_status):
    result = Count()
    for label, run in _last_attempts(events):
        _count_run(label, run, result)
    for label, reason in _not_built(events):
        result.failures.append(f"{label}: {reason}")
    if bazel_status != 0 and not result.failures:
        result.failures.append(f"bazel failed with status {bazel_status} before or beside the tests; see above")
    if result.passed == 0 and not result.failures:
        result.failures.append("no test was run")
    return result


def read_events(path):
    """The events of a file that may be missing, or cut off by bazel's own death."""
    events = []
    try:
        with open(path, encoding="utf-8") as file:
            for line in file:
                events.append(json.loads(line))
    except (OSError, ValueError):
        pass
    return events


def _last_attempts(events):
    """(label, result) of each test program's each shard; of several attempts the last one decides."""
    last = {}
    for event in events:
        key = event.get("id", {}).get("testResult")
        if key and "testResult" in event:
            last[key["label"], key.get("run", 1), key.get("shard", 1)] = event["testResult"]
    return [(label, run) for (label, _, _), run in sorted(last.items(), key=lambda item: item[0])]


def _count_run(label, run, result):
    failures_before, passed_before = len(result.failures), result.passed
    for case in _cases(run):
        name = f"{label} {case.get('classname')}.{case.get('name')}" if case.get("classname") else label
        if case.get("status") == "notrun":
            continue
        if case.find("failure") is not None or case.find("error") is not None:
            result.failures.append(name)
        elif case.find("skipped") is not None or case.get("result") == "skipped":
            result.skipped.append(name)
        else:
            result.passed += 1
    ended_well = run.get("status") in ("PASSED", "FLAKY")
    if not ended_well and len(result.failures) == failures_before:
        result.failures.append(f"{label}: {run.get('status', 'no status')}")
    if ended_well and result.passed == passed_before and len(result.failures) == failures_before and not _cases(run):
        result.passed += 1


def _cases(run):
    for output in run.get("testActionOutput", []):
        if output.get("name") == "test.xml":
            try:
                path = urllib.parse.unquote(urllib.parse.urlparse(output["uri"]).path)
                return list(xml.etree.ElementTree.parse(path).getroot().iter("testcase"))
            except (OSError, KeyError, xml.etree.ElementTree.ParseError):
                return []
    return []


def _not_built(events):
    """(label, why) of every target that bazel did not get built."""
    reasons = {}
    for event in events:
        key = event.get("id", {})
        completed = key.get("targetCompleted") or key.get("configuredLabel")
        if completed and (key.get("configuredLabel") or not event.get("completed", {}).get("success")):
            reasons.setdefault(completed["label"], "does not build")
        if "pattern" in key and "aborted" in event:
            reasons.setdefault(" ".join(key["pattern"].get("pattern", [])), "cannot be loaded")
    return sorted(reasons.items())


def main(path, bazel_status):
    result = count(read_events(path), int(bazel_status))
    for name in result.skipped:
        print(f"SKIPPED {name}")
    for name in result.failures:
        print(f"FAILED {name}")
    if result.skipped:
        print(f"{len(result.skipped)} skipped")
    print(f"{result.passed} passed, {len(result.failures)} failed")
    return 1 if result.failures else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
