#!/usr/bin/env python3
"""What is made of Debian's packages for the emulated machine."""

import lzma
import unittest

import qemu_build
from debian_packages import parse_depends
from errors import GuestError

RECORD = """\
Package: linux-image-amd64
Version: 6.1.192-2
Depends: linux-image-6.1.0-56-amd64 (= 6.1.192-2), initramfs-tools
Description: Linux for 64-bit PCs (meta-package)
"""
MODULES_DEP = """\
kernel/net/9p/9pnet.ko: kernel/fs/fscache.ko
kernel/fs/fscache.ko:
kernel/fs/9p/9p.ko: kernel/net/9p/9pnet.ko kernel/fs/fscache.ko
kernel/fs/overlay.ko:
"""


class KernelPackageTest(unittest.TestCase):
    def test_is_the_one_that_the_meta_package_depends_on(self):
        self.assertEqual(parse_depends(RECORD, "linux-image-"), ["linux-image-6.1.0-56-amd64"])
        self.assertEqual(parse_depends("", "linux-image-"), [])


class UnpackedKernelTest(unittest.TestCase):
    def test_is_the_elf_file_among_what_is_packed(self):
        packed = lzma.compress(b"no kernel") + lzma.compress(b"\x7fELF!")
        image = b"code" + qemu_build.XZ_MAGIC + b"by chance" + packed + b"rest"
        self.assertEqual(qemu_build.unpacked_kernel(image), b"\x7fELF!")

    def test_an_image_without_one_is_an_error(self):
        with self.assertRaises(GuestError):
            qemu_build.unpacked_kernel(b"code" + lzma.compress(b"no kernel"))


class LoadOrderTest(unittest.TestCase):
    def test_what_a_module_needs_comes_before_it_and_once(self):
        order = qemu_build.load_order(MODULES_DEP, ["9p", "overlay", "9pnet"])
        self.assertEqual(
            order, ["kernel/fs/fscache.ko", "kernel/net/9p/9pnet.ko", "kernel/fs/9p/9p.ko", "kernel/fs/overlay.ko"]
        )


if __name__ == "__main__":
    unittest.main()
