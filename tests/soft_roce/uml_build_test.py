#!/usr/bin/env python3
"""How the packages' versions are found and what the modules' build is told."""

import unittest

import uml_build
from debian_packages import parse_candidate, parse_madison
from errors import GuestError

MADISON = """\
linux-source-6.1 |  6.1.192-2 | http://deb.debian.org/debian-security bookworm-security/main amd64 Packages
linux-source-6.1 |  6.1.176-1 | http://deb.debian.org/debian bookworm/main amd64 Packages
"""


class VersionsTest(unittest.TestCase):
    def test_the_candidate_is_what_apt_would_install(self):
        policy = "user-mode-linux:\n  Installed: (none)\n  Candidate: 6.1um4+b13\n"
        self.assertEqual(parse_candidate(policy), "6.1um4+b13")
        self.assertIsNone(parse_candidate("user-mode-linux:\n  Installed: (none)\n  Candidate: (none)\n"))
        self.assertIsNone(parse_candidate(""))

    def test_the_source_is_that_of_the_kernel(self):
        self.assertEqual(uml_build.source_version("6.1.176", parse_madison(MADISON)), "6.1.176-1")

    def test_a_kernel_without_its_source_is_an_error_that_names_both(self):
        with self.assertRaisesRegex(GuestError, "6.1.17, .*6.1.192-2, 6.1.176-1"):
            uml_build.source_version("6.1.17", parse_madison(MADISON))


class OptionsTest(unittest.TestCase):
    def test_make_and_the_compiler_are_told_the_same(self):
        self.assertIn("CONFIG_RDMA_RXE=m", uml_build.options_for_make())
        self.assertIn("-DCONFIG_RDMA_RXE_MODULE=1", uml_build.options_for_compiler())
        self.assertIn("CONFIG_INFINIBAND_VIRT_DMA=y", uml_build.options_for_make())
        self.assertIn("-DCONFIG_INFINIBAND_VIRT_DMA=1", uml_build.options_for_compiler())


if __name__ == "__main__":
    unittest.main()
