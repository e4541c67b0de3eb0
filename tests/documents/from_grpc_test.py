"""docs/from_grpc.md names nothing of Verbena's that is not there, in the second and third columns of its tables."""

import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCUMENT = ROOT / "docs" / "from_grpc.md"
HEAD = ["gRPC", "Verbena", "What differs"]

# Generated classes are those of the generator's golden files.
GENERATED = {
    "Greeter": ("greeter.verbena.h.golden",),
    "Oracle": ("mocked.verbena.h.golden", "mocked_mock.verbena.h.golden"),
}
# What is named as it is written in a shell, a build file or a target, and whoever defines it.
NOT_CPP = {
    "protoc --verbena_out": "codegen/main.cc",
    "foo.verbena.h": "codegen/generator.cc",
    "verbena_cc_library": "codegen/verbena.bzl",
    "generate_mock_code": "codegen/options.h",
    "host:port,host:port": "rpc/names/name_source.h",
    "etcd://host:port/prefix": "rpc/names/etcd_lookup.h",
    "file:///path": "rpc/names/name_source.h",
    "tools/verbena": "tools/verbena/verbena.cc",
}
# Abseil's classes, of which only the namespace is looked at.
ABSEIL = "absl::"


def rows(text):
    """The cells of every row of every table of this head."""
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| ") and len(cells) == len(HEAD) and cells != HEAD and not cells[0].startswith("---"):
            yield cells


def code_in(cell):
    return re.findall(r"`([^`]+)`", cell)


def code_of(path):
    """Its text without comments."""
    return re.sub(r"//[^\n]*", "", path.read_text(encoding="utf-8"))


def public_headers():
    paths = [path for folder in ("rpc", "testing", "transport") for path in (ROOT / folder).rglob("*.h")]
    return [code_of(path) for path in paths if path.parent.name != "testing" or path.parent.parent == ROOT]


def has_word(text, word):
    return re.search(rf"\b{re.escape(word)}\b", text) is not None


def body_of(kind_and_name, text):
    """What stands in the braces of the first class, struct or enum that is defined under this name; empty: none is."""
    found = re.search(rf"\b(?:class|struct|enum(?: class)?) {kind_and_name}\b[^;{{]*{{", text)
    if found is None:
        return ""
    depth, position = 1, found.end()
    while depth and position < len(text):
        depth += {"{": 1, "}": -1}.get(text[position], 0)
        position += 1
    return text[found.end() : position]


def is_defined(name, headers):
    """`Name`, or `Class::member`, each part within the one before it."""
    first, *members = name.split("::")
    if first in GENERATED:
        headers = [code_of(ROOT / "codegen" / "testdata" / golden) for golden in GENERATED[first]]
    if not members:
        definition = rf"\b(?:class|struct|enum(?: class)?|using) {first}\b|\b{first}\("
        return any(re.search(definition, header) for header in headers)
    for header in headers:
        body = body_of(first, header)
        for member in members[:-1]:
            body = body_of(member, body)
        if has_word(body, members[-1]):
            return True
    return False


def namespace_at(position, text):
    """Of what stands there."""
    scopes = []
    for brace in re.finditer(r"(?:\bnamespace ([\w:]+) )?{|}", text[:position]):
        if brace.group() == "}":
            scopes.pop()
        else:
            scopes.append(brace.group(1))
    return "::".join(scope for scope in scopes if scope is not None)


def namespaces_of(name, headers):
    """Of every type that is defined under this name, or has it by a using."""
    definition = rf"\b(?:class|struct|enum(?: class)?|using) (?:\[\[\w+\]\] )?{name}\b(?! *;)|\busing [\w:]+::{name};"
    return {
        namespace_at(found.start(), header) for header in headers for found in re.finditer(definition, header)
    }


class FromGrpcTest(unittest.TestCase):
    def setUp(self):
        self.rows = list(rows(DOCUMENT.read_text(encoding="utf-8")))

    def test_every_name_of_ours_exists(self):
        headers = public_headers()
        names = [code for row in self.rows for code in code_in(row[1]) if code not in NOT_CPP and ABSEIL not in code]
        self.assertGreater(len(names), 50)
        missing = [name for name in names if not is_defined(name.removesuffix(" stub(channel)"), headers)]
        self.assertEqual(missing, [])

    def test_every_type_of_ours_is_in_the_namespace_that_is_left_out(self):
        headers = public_headers()
        codes = [code for row in self.rows for code in code_in(row[1]) + re.findall(r"`(\w+::\w+)`", row[2])]
        first = {code.split("::")[0] for code in codes if re.fullmatch(r"\w+(::\w+)*", code)}
        namespaces = {name: found for name in first if (found := namespaces_of(name, headers))}
        self.assertGreater(len(namespaces), 50)
        for name, found in namespaces.items():
            self.assertTrue(found & {"verbena", "verbena::testing"}, f"{name} is in {found}")

    def test_every_name_in_what_differs_exists(self):
        headers = public_headers()
        codes = [code for row in self.rows for code in code_in(row[2]) if ABSEIL not in code]
        names = [code for code in codes if re.fullmatch(r"\w+(::\w+)*", code)]
        self.assertGreater(len(names), 10)
        for name in names:
            found = is_defined(name, headers) if "::" in name else any(has_word(header, name) for header in headers)
            self.assertTrue(found, name)

    def test_what_is_no_cpp_is_where_it_is_said_to_be(self):
        for code, path in NOT_CPP.items():
            self.assertTrue((ROOT / path).is_file(), f"{code}: {path}")
            self.assertTrue(any(code in code_in(row[1]) for row in self.rows), f"{code} is not in the document")

    def test_every_row_says_what_differs_or_has_a_name_here(self):
        for row in self.rows:
            self.assertTrue(code_in(row[1]) or row[2] or row[1] in ("The same", "The default"), row)

    def test_names_that_are_not_there_are_found_missing(self):
        headers = public_headers()
        self.assertTrue(is_defined("Channel::Create", headers))
        self.assertTrue(is_defined("Server::Builder::Build", headers))
        self.assertTrue(is_defined("Greeter::Stub::co", headers))
        for name in ("Channell", "Channel::Creates", "Server::Builder::Wait", "Greeter::Stub::Creates"):
            self.assertFalse(is_defined(name, headers), name)


if __name__ == "__main__":
    unittest.main()
