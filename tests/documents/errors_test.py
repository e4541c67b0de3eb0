"""docs/errors.md names no test that is not there: its last column is `Suite.Name` of a TEST, TEST_F or TEST_P."""

import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TEST_COLUMN = 3


def named_tests(text):
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if line.startswith("| ") and len(cells) == TEST_COLUMN + 1 and cells[TEST_COLUMN] not in ("Test", "---"):
            yield cells[TEST_COLUMN].strip("`| ")


def tests_of_the_code():
    found = set()
    for folder in ("rpc", "tests", "transport"):
        for path in (ROOT / folder).rglob("*_test.cc"):
            text = path.read_text(encoding="utf-8")
            found.update(f"{suite}.{name}" for suite, name in re.findall(r"^TEST(?:_[FP])?\((\w+), (\w+)\)", text, re.M))
    return found


class ErrorsDocument(unittest.TestCase):
    def test_every_row_names_a_test_that_is_there(self):
        named = list(named_tests((ROOT / "docs" / "errors.md").read_text(encoding="utf-8")))
        self.assertGreater(len(named), 20)
        self.assertEqual([name for name in named if name not in tests_of_the_code()], [])


if __name__ == "__main__":
    unittest.main()
