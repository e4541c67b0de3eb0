#!/usr/bin/env python3
"""Where a table goes in a document."""

import unittest

from document_table import replaced

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


if __name__ == "__main__":
    unittest.main()
