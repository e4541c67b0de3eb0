"""Runs the benchmark that the test's last argument names."""

import json
import subprocess
import sys

PROGRAM = sys.argv.pop()


def run(*flags):
    return subprocess.run([PROGRAM, *flags], capture_output=True, text=True, timeout=120, check=False)


def measure(*flags, where="--device=soft"):
    """Its figures, of two short rounds unless the flags say otherwise."""
    result = run(where, "--seconds=0.2", "--rounds=2", "--json", *flags)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)
