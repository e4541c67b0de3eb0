"""docs/conformance.md lists the gaps that conformance_cases.py has, in its order.

    gaps_document_test.py [--write]     --write puts the list into the document
"""

import pathlib
import sys

import conformance_cases

DOCUMENT = pathlib.Path(__file__).resolve().parents[2] / "docs" / "conformance.md"
HEAD = "| Program | Why not |\n| --- | --- |\n"


def table():
    return "".join(f"| `{case.name}` | {case.gap} |\n" for case in conformance_cases.CASES if case.gap)


def main():
    before, head, rows = DOCUMENT.read_text(encoding="utf-8").partition(HEAD)
    if "--write" in sys.argv:
        DOCUMENT.write_text(before + HEAD + table(), encoding="utf-8")
    elif not head or rows != table():
        sys.exit(f"the gaps in {DOCUMENT} are not those of conformance_cases.py; --write puts them there")


if __name__ == "__main__":
    main()
