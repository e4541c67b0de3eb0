"""A table that stands in a document between two comments, so that the program that measures it can write it anew."""

import pathlib


def replaced(document: str, name: str, table: str) -> str:
    """The document with `table` between `<!-- NAME -->` and `<!-- end of NAME -->`, each a line of its own.

    Raises ValueError if it has no such place.
    """
    begins, ends = f"<!-- {name} -->\n", f"<!-- end of {name} -->\n"
    before, found_begin, rest = document.partition(begins)
    _, found_end, after = rest.partition(ends)
    if not found_begin or not found_end:
        raise ValueError(f"the document has no place for the table, between {begins} and {ends}")
    return before + begins + table + ends + after


def check(path: pathlib.Path, name: str) -> None:
    """Before what takes long: raises OSError or ValueError if the table could not be written there."""
    with open(path, "r+", encoding="utf-8") as document:
        replaced(document.read(), name, "")


def write(path: pathlib.Path, name: str, table: str) -> None:
    path.write_text(replaced(path.read_text(encoding="utf-8"), name, table), encoding="utf-8")
