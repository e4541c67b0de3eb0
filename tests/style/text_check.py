"""What must not stand in a source: unfinished work, destroy calls out of place, lines in parts, paths of one machine,
lost files."""

import posixpath
import re

from source_tree import CPP_SUFFIXES, Finding, blank_comments_and_strings, line_of

# Spelled in two parts, so that this file passes its own check.
UNFINISHED = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b")
MACHINE_PATH = re.compile(
    r"(?<![\w.$}/-])/(?:wo" r"rk|ro" r"ot|ho" r"me/\w+|tm" r"p/vb)\b(?:/|(?=[\s\"'`;:,.)]|$))"
)
TEMPORARY_PATH = re.compile(r"(?<![\w.$}:-])/tm" r"p/\w")
DESTROY = re.compile(
    r"\b(?:ibv_(?:destroy|dereg|dealloc|close)_\w+|rdma_destroy_\w+)\s*\("
    r"|(?:->|\.)\s*(?:destroy_(?:cq|srq|comp_channel)|deregister_memory|dealloc_pd|close_device|cm_destroy_\w+)"
    r"\s*\("
)
# std::cerr writes each part at once, so another thread's line (the log's) can come between two parts.
PIECEMEAL = re.compile(r"\bstd::cerr\s*<<[^;]*?<<[^;]*;")
DESTROYERS = ("transport/verbs/", "transport/soft/")
PROGRAMS = ("benchmarks/", "examples/", "tools/")
RAW_VERBS_PROGRAMS = ("tests/soft_roce/", "tests/conformance/")


def check(tree):
    findings = []
    for path, text in tree.files.items():
        findings += _matches(path, text, UNFINISHED, "finish it, or write an issue; no notes to self in the tree")
        findings += _matches(path, text, MACHINE_PATH, "a path of one machine; derive it from a variable")
        if not path.endswith(".md"):
            findings += _matches(path, text, TEMPORARY_PATH, "use mktemp, ${TMPDIR:-...} or ::testing::TempDir()")
    for path, text in tree.cpp().items():
        code = blank_comments_and_strings(text)
        if not path.startswith(DESTROYERS + RAW_VERBS_PROGRAMS):
            findings += _matches(path, code, DESTROY, "only handles destroy; hold one of transport/verbs/")
        if path.startswith(PROGRAMS):
            findings += _matches(path, code, PIECEMEAL, "a line goes to std::cerr as one string; use absl::StrCat")
        findings += _header_guard(path, text)
        findings += _in_a_target(path, tree)
    return findings


def _matches(path, text, pattern, advice):
    for match in pattern.finditer(text):
        yield Finding(path, line_of(text, match.start()), f"`{match.group(0).strip()}`: {advice}")


def _header_guard(path, text):
    if not path.endswith(".h"):
        return
    guard = "VERBENA_" + re.sub(r"[^A-Za-z0-9]", "_", path).upper() + "_"
    first = re.search(r"^#ifndef (\S+)\n#define (\S+)", text, re.MULTILINE)
    if first is None or first.group(1) != guard or first.group(2) != guard:
        yield Finding(path, line_of(text, first.start()) if first else 1, f"the include guard must be {guard}")


def _in_a_target(path, tree):
    """A source that no target names is never compiled, and a test that no target names never runs."""
    directory = posixpath.dirname(path)
    while True:
        build = posixpath.join(directory, "BUILD.bazel")
        if build in tree.files:
            break
        if directory == "":
            yield Finding(path, 1, "no BUILD.bazel here or above; add one with a target for this file")
            return
        directory = posixpath.dirname(directory)
    within = posixpath.relpath(path, directory) if directory else path
    if not re.search(rf'["/:]{re.escape(within)}"', tree.files[build]) and not _globbed(within, tree.files[build]):
        yield Finding(path, 1, f"no target of {build} names it; add it to one, or delete it")


def _globbed(within, build):
    for pattern in re.findall(r'"([^"]*\*[^"]*)"', build):
        if re.fullmatch(re.escape(pattern).replace(r"\*\*/", "(?:.*/)?").replace(r"\*", "[^/]*"), within):
            return True
    return False
