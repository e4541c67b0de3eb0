#!/usr/bin/env python3
"""Counts what a `bazel test` did, test case by test case, and closes with the line `N passed, N failed`.

    report.py EVENTS BAZEL_STATUS [GUESTS]

EVENTS is the file that --build_event_json_file wrote, BAZEL_STATUS is bazel's exit status, GUESTS what
tests/soft_roce/run_suite counted on devices of a guest's kernel (counts.json), which is added. A test program counts as
many tests as its test.xml has cases, and as one where it leaves no report; one that does not end well, or does not
build, counts as one failure at least, and so does anything else that made bazel fail. Exits with 0 only if nothing failed and something ran.
"""

import json
import sys
import urllib.parse

from case_count import Count, count_program, read_cases


def count(events, bazel_status):
    result = Count()
    for label, run in _last_attempts(events):
        end = "" if run.get("status") in ("PASSED", "FLAKY") else run.get("status", "no status")
        result.add(count_program(label, _cases(run), end))
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


def _cases(run):
    for output in run.get("testActionOutput", []):
        if output.get("name") == "test.xml":
            return read_cases(urllib.parse.unquote(urllib.parse.urlparse(output.get("uri", "")).path))
    return None


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


def add_guests(result, path):
    """What run_suite counted. A file that it did not write is a failure."""
    try:
        with open(path, encoding="utf-8") as file:
            result.add(Count(**json.load(file)))
    except (OSError, ValueError, TypeError) as error:
        result.failures.append(f"tests/soft_roce/run_suite left no counts: {error}")


def main(path, bazel_status, guests=None):
    result = count(read_events(path), int(bazel_status))
    if guests is not None:
        add_guests(result, guests)
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
