"""Runs the cases of one family, in every way that they are to be run.

    conformance_test.py FAMILY WITH_SOFT_DEVICE LIBRARY [--only WORDS]

LIBRARY is one of the device's libraries; the others lie beside it. Prints a line for each case and the programs' logs
of those that failed.
"""

import argparse
import os
import pathlib
import shutil
import sys
import tempfile

import conformance_cases
import running

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "report"))
from skipping import skip  # noqa: E402


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("family")
    arguments.add_argument("with_soft_device", type=pathlib.Path)
    arguments.add_argument("library", type=pathlib.Path)
    arguments.add_argument("--only", default="", help="run the cases whose name has these words")
    options = arguments.parse_args()

    sanitizer = running.sanitizer_of(options.library)
    if sanitizer:
        skip(f"the libraries were built with a sanitizer ({sanitizer}), the programs were not")
        return
    os.environ["VERBENA_SOFT_LIBRARIES"] = str(options.library.absolute().parent)
    cases = [case for case in conformance_cases.CASES if case.family == options.family and options.only in case.name]
    if not cases:
        sys.exit(f"no case of family {options.family}")
    missing = {program for case in cases for program in running.programs_of(case) if shutil.which(program) is None}
    if missing:  # Else each would look like a gap.
        sys.exit(f"not installed: {', '.join(sorted(missing))}; see tools/install_deps.sh")
    with tempfile.TemporaryDirectory() as directory:
        wrong = [
            case.name
            for case in cases
            for way in case.ways
            if not run_and_report(case, [str(options.with_soft_device.absolute()), f"--{way}"], directory)
        ]
    print(f"{len(cases)} cases, {len(wrong)} not as expected")
    sys.exit(1 if wrong else 0)


def run_and_report(case, launcher, directory):
    """True if the case came out as expected."""
    outcome = running.run(case, launcher, directory)
    word, remark = verdict(case, outcome)
    print(f"{word:8} {outcome.seconds:5.1f} s {launcher[-1][2:]:8} {case.name}{remark}", flush=True)
    as_expected = word in ("passed", "gap")
    if not as_expected:
        print(outcome.log, flush=True)
    return as_expected


def verdict(case, outcome):
    if outcome.crashed:
        return "CRASHED", f": {outcome.complaint}"
    if case.gap:
        if outcome.complaint:
            return "gap", f" ({case.gap}): {outcome.complaint}"
        return "PASSED", f": it is listed as a gap ({case.gap}); it is none any more, so list it as a case that passes"
    return ("FAILED", f": {outcome.complaint}") if outcome.complaint else ("passed", "")


if __name__ == "__main__":
    main()
