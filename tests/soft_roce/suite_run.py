"""Runs the suite's programs on one device, each in a guest of its own, and counts what they did."""

import dataclasses
import os
import pathlib
import sys
import time
from collections.abc import Callable

import device_counters
import suite_programs
from guest_run import HERE, Guest, Outcome, Run, run_in
from suite_programs import Program

sys.path.append(str(HERE.parent / "report"))
from case_count import Count, count_program, read_cases  # noqa: E402

CONSOLE_LINES = 40
BOOT_SECONDS_MAX = 120  # Of a guest that does nothing else.


@dataclasses.dataclass(frozen=True)
class Suite:
    guest: Guest
    built: pathlib.Path  # bazel-bin.
    results: pathlib.Path  # A folder for each device is made in it, and in there one for each program.
    say: Callable[[str], None]


def run_on(device: str, programs: list[Program], suite: Suite) -> Count:
    """Runs one after the other, and says what becomes of each. Without a guest all are skipped."""
    total = Count()
    if why := does_not_start(suite.guest, suite_programs.NETWORKS[device]):
        total.skipped.append(f"{device}: no guest, {len(programs)} programs did not run")
        suite.say(f"{device}: NOT TESTED: {why}")
        return total
    for program in programs:
        if suite.guest.slowness > 1 and not program.in_emulation:
            total.skipped.append(f"{device} {program.name}: takes too long in {suite.guest.name}")
            continue
        began = time.monotonic()
        folder = suite.results / device / program.name
        folder.mkdir(parents=True)
        outcome = _run(device, program, suite, folder)
        result = count(device, program, folder, outcome)
        suite.say(_verdict(device, program, result, folder, outcome, time.monotonic() - began))
        total.add(result)
    return total


def does_not_start(guest: Guest, network: str = "") -> str:
    """Why it does not, with that network; empty if it does."""
    outcome = run_in(guest, _in_guest(["true"], network, 1024, BOOT_SECONDS_MAX * guest.slowness, []))
    if outcome.status == 0:
        return ""
    return f"a guest does not start; the last of what its kernel said:\n{_end_of(outcome.console)}"


def _run(device: str, program: Program, suite: Suite, folder: pathlib.Path) -> Outcome:
    directory = suite.built / f"{program.path}.runfiles/verbena"
    command = [
        "env", f"GTEST_FILTER={suite_programs.filter_of(program, device)}",
        f"VERBENA_TEST_LARGE_MIB={suite_programs.LARGE_MIB}",
        "bash", str(HERE / "guest/run_program.sh"), str(folder), str(directory), program.path, *program.arguments,
    ]  # fmt: skip
    seconds = program.timeout_seconds * suite.guest.slowness
    network = suite_programs.network_of(program, device)
    return run_in(suite.guest, _in_guest(command, network, program.memory_mb, seconds, [folder]))


def _in_guest(
    command: list[str], network: str, memory_mb: int, timeout_seconds: float, writable: list[pathlib.Path]
) -> Run:
    return Run(command, network, memory_mb, timeout_seconds, writable, terminal=False)


def count(device: str, program: Program, folder: pathlib.Path, outcome: Outcome) -> Count:
    """From what run_program.sh left in `folder`."""
    name = f"{device} {program.name}"
    result = count_program(name, read_cases(folder / "cases.xml"), _end(folder, outcome))
    for on, pattern, reason in program.left_out:
        if on == device:
            result.skipped.append(f"{name} {pattern}: {reason}")
    if program.fault_free and (folder / "after").exists():
        _count_faults(name, folder, result)
    return result


def _end(folder: pathlib.Path, outcome: Outcome) -> str:
    """How a program ended; empty if well."""
    status = folder / "status"
    if status.exists():
        text = status.read_text(encoding="utf-8").strip()
        return "" if text == "0" else f"exit status {text}"
    return "no end within its time" if outcome.timed_out else "the guest died"


def _count_faults(name: str, folder: pathlib.Path, result: Count) -> None:
    """As one case more, on a device that counts any."""
    before, after = (device_counters.parse((folder / file).read_text(encoding="utf-8")) for file in ("before", "after"))
    grown = device_counters.growth(before, after)
    result.failures += [f"{name}: the device's counter {words}" for words in grown]
    if not grown and device_counters.watched(after):
        result.passed += 1


def _verdict(
    device: str, program: Program, result: Count, folder: pathlib.Path, outcome: Outcome, seconds: float
) -> str:
    line = f"{device} {program.name}: {result.passed} passed, {len(result.failures)} failed, {seconds:.0f} s"
    if not result.failures:
        return line
    log = folder / "log"
    said = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
    kernel = "" if outcome.status is not None else f"\nThe last of what the guest's kernel said:\n{_end_of(outcome.console)}"
    return f"{said}{line}{kernel}"


def _end_of(console: str) -> str:
    return "\n".join(console.splitlines()[-CONSOLE_LINES:])
