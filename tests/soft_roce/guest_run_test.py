#!/usr/bin/env python3
"""What becomes of output, exit status and a guest that dies, with a shell script for a guest."""

import contextlib
import io
import os
import pathlib
import tempfile
import unittest

from guest_run import Run, run_in

RUN = Run(command=["echo", "a b", ""], network="", memory_mb=1, timeout_seconds=60, writable=[], terminal=False)


class ScriptedGuest:
    """Runs `script` on this machine, in which $RUN is the run's folder and $OUTPUT, $ERRORS and $CONSOLE are
    descriptors."""

    name = "scripted"
    slowness = 1

    def __init__(self, script):
        self._script = script

    def parameters(self, run):
        return "GUEST=scripted\n"

    def environment(self, run):
        return {}

    def command_line(self, run, folder, output, errors, console):
        self.folder = folder.path
        variables = f"RUN={folder.path} OUTPUT={output} ERRORS={errors} CONSOLE={console}\n"
        return ["bash", "-c", variables + self._script]


class CapturedStream:
    def __init__(self):
        self.buffer = io.BytesIO()


def run_script(script, run=RUN):
    """The outcome, and what went to standard output and standard error."""
    output, errors = CapturedStream(), CapturedStream()
    guest = ScriptedGuest(script)
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
        outcome = run_in(guest, run)
    return outcome, output.buffer.getvalue(), errors.buffer.getvalue(), guest.folder


class GuestRunTest(unittest.TestCase):
    def test_output_errors_and_status_are_the_commands(self):
        outcome, output, errors, _ = run_script(
            "printf 'out\\n\\xff' >&$OUTPUT; echo err >&$ERRORS; echo boot >&$CONSOLE; echo 42 >$RUN/status"
        )
        self.assertEqual((outcome.status, outcome.timed_out), (42, False))
        self.assertEqual(output, b"out\n\xff")
        self.assertEqual(errors, b"err\n")
        self.assertEqual(outcome.console, "boot\n")

    def test_a_guest_that_dies_has_no_status_and_leaves_its_console(self):
        outcome, _, _, _ = run_script("echo Kernel panic >&$CONSOLE; kill -9 $$")
        self.assertIsNone(outcome.status)
        self.assertFalse(outcome.timed_out)
        self.assertIn("Kernel panic", outcome.console)

    def test_a_guest_past_its_time_is_killed_with_all_that_it_started(self):
        script = "echo begun >&$OUTPUT; sleep infinity & sleep infinity"
        outcome, output, _, _ = run_script(script, Run(**(vars(RUN) | {"timeout_seconds": 0.5})))
        self.assertIsNone(outcome.status)
        self.assertTrue(outcome.timed_out)
        self.assertIn(output, (b"begun\n", b""))

    def test_a_guest_finds_command_environment_and_directory_byte_by_byte(self):
        with tempfile.TemporaryDirectory() as folder:
            script = "cat $RUN/command >&$OUTPUT; cat $RUN/environment $RUN/directory $RUN/writable >&$ERRORS"
            _, output, errors, _ = run_script(script, Run(**(vars(RUN) | {"writable": [pathlib.Path(folder)]})))
            self.assertEqual(output, b"echo\0a b\0\0")
            self.assertIn(b"PATH=" + os.environb[b"PATH"] + b"\0", errors)
            self.assertTrue(errors.endswith(os.fsencode(os.getcwd() + str(pathlib.Path(folder).resolve())) + b"\0"))

    def test_nothing_of_a_run_stays_behind(self):
        _, _, _, folder = run_script("echo 0 >$RUN/status")
        self.assertFalse(folder.exists())


if __name__ == "__main__":
    unittest.main()
