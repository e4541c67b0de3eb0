"""What tools/with_soft_device says when it cannot run a command.

    with_soft_device_test.py WITH_SOFT_DEVICE
"""

import os
import pathlib
import subprocess
import sys
import unittest

WITH_SOFT_DEVICE = pathlib.Path(sys.argv[1]).absolute()


class WithSoftDevice(unittest.TestCase):
    def refusal(self, status, *arguments, libraries="/nowhere"):
        environment = os.environ | {"VERBENA_SOFT_LIBRARIES": libraries}
        run = subprocess.run(
            [WITH_SOFT_DEVICE, *arguments], stderr=subprocess.PIPE, text=True, check=False, env=environment
        )
        self.assertEqual(run.returncode, status)
        return run.stderr

    def test_a_directory_without_the_libraries_is_named(self):
        for libraries in ("/nowhere", "/nowhere/at/all", "/dev"):
            with self.subTest(libraries):
                self.assertIn(f" {libraries}\n", self.refusal(1, "true", libraries=libraries))

    def test_what_is_no_command_is_said(self):
        self.assertIn("no command", self.refusal(2))
        self.assertIn("unknown option --drop-in", self.refusal(2, "--drop-in", "true"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
