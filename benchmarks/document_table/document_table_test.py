#!/usr/bin/env python3
"""Where a table goes in a document."""

import pathlib
import tempfile
import unittest

from document_table import check, replaced

DOCUMENT = "before\n<!-- fast -->\n| old |\n<!-- end of fast -->\nbetween\n<!-- slow -->\n<!-- end of slow -->\nafter\n"


class DocumentTable(unittest.TestCase):
    def test_a_table_replaces_the_one_between_its_comments(self):
        self.assertEqual(replaced(DOCUMENT, "fast", "| new |\n"), DOCUMENT.replace("| old |", "| new |"))

    def test_a_table_is_written_where_none_was(self):
        self.assertIn("<!-- slow -->\n| new |\n<!-- end of slow -->\n", replaced(DOCUMENT, "slow", "| new |\n"))

    def test_a_document_without_the_place_is_an_error_that_names_it(self):
        for document in ("no place", "<!-- fast -->\n| it has no end |\n"):
            with self.subTest(document=document), self.assertRaisesRegex(ValueError, "end of fast"):
                replaced(document, "fast", "| new |\n")

    def test_where_no_table_can_be_written_is_found_out_before_it_is_measured(self):
        with tempfile.TemporaryDirectory() as name:
            document = pathlib.Path(name, "document.md")
            with self.assertRaises(FileNotFoundError):
                check(document, "fast")
            document.write_text(DOCUMENT)
            check(document, "fast")
            with self.assertRaisesRegex(ValueError, "end of quick"):
                check(document, "quick")
            self.assertEqual(document.read_text(), DOCUMENT)


if __name__ == "__main__":
    unittest.main()
