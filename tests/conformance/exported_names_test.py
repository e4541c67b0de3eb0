"""The drop-in libraries export what rdma-core's export, and call things by the same names.

    exported_names_test.py SYMBOLS LIBIBVERBS LIBRDMACM PRELOAD
"""

import os
import pathlib
import re
import subprocess
import sys
import unittest

import running

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "report"))
from skipping import skip  # noqa: E402

SYMBOLS, LIBIBVERBS, LIBRDMACM, PRELOAD = (pathlib.Path(argument).absolute() for argument in sys.argv[1:5])

# Prints what the functions say that need no device.
SPEAKER = """
import ctypes
ctypes.CDLL("librdmacm.so.1", ctypes.RTLD_GLOBAL)
every = ctypes.CDLL(None)  # The names as a program finds them.
for name in ("ibv_node_type_str", "ibv_port_state_str", "ibv_event_type_str", "ibv_wc_status_str", "rdma_event_str"):
    function = getattr(every, name)
    function.restype = ctypes.c_char_p
    for value in range(-1, 40):
        print(name, value, function(value))
for name in ("ibv_rate_to_mult", "ibv_rate_to_mbps"):
    for rate in range(30):
        print(name, rate, getattr(every, name)(rate))
for multiple in range(500):
    print("mult_to_ibv_rate", multiple, every.mult_to_ibv_rate(multiple))
for rate in range(30):
    print("mbps_to_ibv_rate", rate, every.mbps_to_ibv_rate(every.ibv_rate_to_mbps(rate)))
# Copies of structures; the bytes that a copy leaves alone keep their value.
for name in ("ah_attr_from", "qp_attr_from", "path_rec_from", "path_rec_to"):
    source = (ctypes.c_ubyte * 300)(*(1 + index % 127 for index in range(300)))
    target = (ctypes.c_ubyte * 300)(*(255 for _ in range(300)))
    getattr(every, f"ibv_copy_{name}_kern")(target, source)
    print(name, bytes(target).hex())
"""


def exported(library):
    """{(name, version, whether it is the version for new programs)} of a library."""
    listing = subprocess.run(["readelf", "--dyn-syms", "--wide", library], capture_output=True, text=True, check=True)
    found = set()
    for line in listing.stdout.splitlines():
        words = line.split()
        if len(words) < 8 or words[6] in ("UND", "ABS") or not re.fullmatch(r"\d+:", words[0]):
            continue
        if words[4] == "LOCAL":  # A section, such as that of thread-local variables.
            continue
        name, at, version = words[7].partition("@")
        found.add((name, version.lstrip("@"), version.startswith("@") or not at))
    return found


def installed(name):
    """Where the loader finds rdma-core's library."""
    listing = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=True).stdout
    return re.search(rf"^\s*{re.escape(name)} \(libc6.* => (\S+)$", listing, re.MULTILINE)[1]


def listed():
    found = set()
    for line in SYMBOLS.read_text(encoding="utf-8").splitlines():
        words = line.partition("#")[0].split()
        if words:
            old = words[0] == "old"
            found.add((words[old + 1], words[old], not old))
    return found


def said(environment):
    run = subprocess.run(
        [sys.executable, "-c", SPEAKER], capture_output=True, text=True, check=True, env={**os.environ, **environment}
    )
    return run.stdout.splitlines()


class ExportedNames(unittest.TestCase):
    maxDiff = None

    def test_the_list_is_what_rdma_core_exports(self):
        theirs = exported(installed("libibverbs.so.1")) | exported(installed("librdmacm.so.1"))
        self.assertEqual(sorted(theirs - listed()), [], "not in symbols.txt")
        self.assertEqual(sorted(listed() - theirs), [], "in symbols.txt only")

    def test_the_drop_in_library_exports_the_list_and_nothing_else(self):
        self.assertEqual(sorted(exported(LIBIBVERBS)), sorted(listed()))

    def test_the_second_library_has_its_versions_and_leads_to_the_first(self):
        details = subprocess.run(["readelf", "-dV", LIBRDMACM], capture_output=True, text=True, check=True).stdout
        for version in {version for _, version, _ in listed() if version.startswith("RDMACM")}:
            self.assertIn(f"Name: {version}\n", details)
        self.assertIn("Shared library: [libibverbs.so.1]", details)
        self.assertEqual(exported(LIBRDMACM), set())

    def test_the_preloaded_library_has_all_public_names_and_no_versions(self):
        names = {name for name, version, _ in exported(PRELOAD) if version == ""}
        self.assertEqual({version for _, version, _ in exported(PRELOAD)}, {""})
        public = {name for name, version, new in listed() if new and "PRIVATE" not in version}
        self.assertEqual(sorted(public - names), [])
        self.assertEqual(sorted(names - {name for name, _, _ in listed()}), [])

    def test_functions_without_a_device_say_what_those_of_rdma_core_say(self):
        theirs = said({})
        self.assertGreater(len(theirs), 700)
        self.assertEqual(said({"LD_PRELOAD": str(PRELOAD)}), theirs)
        self.assertEqual(said({"LD_LIBRARY_PATH": str(LIBIBVERBS.parent)}), theirs)


if __name__ == "__main__":
    if running.sanitizer_of(PRELOAD):
        skip("a sanitizer's libraries are not for use, and export its names too")
    else:
        unittest.main(argv=sys.argv[:1])
