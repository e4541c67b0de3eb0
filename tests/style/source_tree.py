"""The repository's own sources, as the style checks see them: a mapping from path to text.

A check is a function that takes a SourceTree and returns Findings, so a test of a check is a tree of a few lines.
"""

import dataclasses
import os
import pathlib
import re
import subprocess

TEXT_SUFFIXES = (".h", ".cc", ".py", ".sh", ".bzl", ".bazel", ".BUILD", ".proto", ".md")
CPP_SUFFIXES = (".h", ".cc")


@dataclasses.dataclass(frozen=True, order=True)
class Finding:
    path: str
    line: int
    message: str  # What is wrong, and what to do.

    def __str__(self):
        return f"{self.path}:{self.line}: {self.message}"


class SourceTree:
    """Paths are relative to the root, with forward slashes."""

    def __init__(self, files, root=None):
        self.files = dict(files)
        self.root = root  # Where the files lie; None for a tree of a test.

    @staticmethod
    def of_workspace(root):
        files = {}
        for path in _listed_files(root):
            full = pathlib.Path(root, path)
            if full.is_file() and not full.is_symlink() and path.endswith(TEXT_SUFFIXES):
                files[path] = full.read_text(encoding="utf-8", errors="replace")
        return SourceTree(files, root)

    def cpp(self):
        return {path: text for path, text in self.files.items() if path.endswith(CPP_SUFFIXES)}


def workspace_root():
    """This file's repository, also when it is reached through Bazel's runfiles."""
    return pathlib.Path(os.path.realpath(__file__)).parents[2]


def is_test_code(path):
    """Whether only tests link it: tests themselves, doubles, fuzz targets."""
    name = path.rsplit("/", 1)[-1]
    return bool(
        re.search(r"_(test|fuzz|fuzzer|double)\.(cc|h)$", name)
        or name.startswith("fake_")
        or re.search(r"(^|/)(testing|testdata|tests)/", path)
    )


def blank_comments_and_strings(text):
    """C++ `text` with comments and the insides of literals turned into blanks; lines stay where they are."""
    pattern = re.compile(
        r'(?P<comment>//[^\n]*|/\*.*?\*/)'
        r'|R"(?P<delimiter>[^(\s]*)\(.*?\)(?P=delimiter)"'
        r'|"(?:\\.|[^"\\\n])*"'
        r"|(?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])+'",
        re.DOTALL,
    )

    def blank(match):
        inside = re.sub(r"[^\n]", " ", match.group(0))
        return inside if match.group("comment") else '"' + inside[1:-1] + '"'

    return pattern.sub(blank, text)


def blank_preprocessor(text):
    """C++ `text` with preprocessor lines, continued ones included, turned into blanks."""
    return re.sub(
        r"^[ \t]*#(?:[^\n\\]|\\\n|\\.)*", lambda match: re.sub(r"[^\n]", " ", match.group(0)), text, flags=re.MULTILINE
    )


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


def _listed_files(root):
    git = ["git", "-c", "safe.directory=*", "-C", str(root), "ls-files", "--cached", "--others", "--exclude-standard"]
    try:
        listing = subprocess.run(git, capture_output=True, text=True, check=True).stdout.splitlines()
        if listing:
            return sorted(set(listing))
    except (OSError, subprocess.CalledProcessError):
        pass  # Not a checkout, or no git: walk.
    found = []
    for directory, names, files in os.walk(root):
        names[:] = [name for name in names if not name.startswith((".git", "bazel-", ".cache"))]
        found += [os.path.relpath(os.path.join(directory, file), root).replace(os.sep, "/") for file in files]
    return sorted(found)
