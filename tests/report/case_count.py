"""Counting tests: cases of a program's report, or the program itself where it leaves none."""

import dataclasses
import xml.etree.ElementTree


@dataclasses.dataclass
class Count:
    passed: int = 0
    failures: list = dataclasses.field(default_factory=list)  # In words, one for each.
    skipped: list = dataclasses.field(default_factory=list)

    def add(self, other):
        self.passed += other.passed
        self.failures += other.failures
        self.skipped += other.skipped


def count_program(name, cases, end):
    """The count of one program. `cases`: of its report, as read_cases returns them. `end`: how it ended, in a word or
    two; empty if well. A program that did not end well counts as one failure at least; one whose report has no case, as
    where --test_filter chose none of it, is not counted."""
    result = Count()
    for case in cases or ():
        case_name = f"{name} {case.get('classname')}.{case.get('name')}" if case.get("classname") else name
        if case.get("status") == "notrun":
            continue
        if case.find("failure") is not None or case.find("error") is not None:
            result.failures.append(case_name)
        elif case.find("skipped") is not None or case.get("result") == "skipped":
            result.skipped.append(case_name + _reason(case))
        else:
            result.passed += 1
    if end and not result.failures:
        result.failures.append(f"{name}: {end}")
    if not end and cases is None:
        result.passed = 1
    return result


def read_cases(path):
    """Every testcase of a JUnit report; None if there is no such report, or no whole one."""
    try:
        return list(xml.etree.ElementTree.parse(path).getroot().iter("testcase"))
    except (OSError, xml.etree.ElementTree.ParseError):
        return None


def _reason(case):
    """What GTEST_SKIP was given, which stands below the line that says where."""
    skipped = case.find("skipped")
    words = (skipped.get("message") or "").strip() if skipped is not None else ""
    return f": {words.splitlines()[-1]}" if words else ""
