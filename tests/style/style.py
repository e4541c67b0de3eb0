#!/usr/bin/env python3
"""Style as a test. `style.py` runs every check on the repository, `style.py include size` runs these two.

Prints one line per finding, `file:line: what, and what to do`, and exits with 1 if there is one.
"""

import sys

import format_check
import include_check
import name_check
import size_check
import text_check
from source_tree import SourceTree, workspace_root

CHECKS = {
    "include": include_check.check,
    "size": size_check.check,
    "name": name_check.check,
    "text": text_check.check,
    "format": format_check.check,
}


def main(names):
    unknown = [name for name in names if name not in CHECKS]
    if unknown:
        print(f"style.py: no check {', '.join(unknown)}; there are {', '.join(CHECKS)}", file=sys.stderr)
        return 2
    tree = SourceTree.of_workspace(workspace_root())
    if not tree.cpp():
        print(f"style.py: no C++ under {workspace_root()}", file=sys.stderr)
        return 2
    findings = sorted(finding for name in names or CHECKS for finding in CHECKS[name](tree))
    for finding in findings:
        print(finding)
    print(f"{len(findings)} findings in {len(tree.files)} files")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
