"""docs/workspace.md names the repositories that WORKSPACE does, and targets and headers that are there."""

import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCUMENT = ROOT / "docs" / "workspace.md"


def repositories(text):
    """Name and path of each, without what leads to Verbena's own folder."""
    rules = re.findall(r"^(?:new_)?local_repository\((.*?)\)$", re.sub(r"\)  #.*", ")", text), re.M | re.S)
    fields = [dict(re.findall(r'(\w+) = "([^"]*)"', rule)) for rule in rules]
    return {rule["name"]: rule["path"].removeprefix("../verbena/") for rule in fields}


class WorkspaceDocument(unittest.TestCase):
    def setUp(self):
        self.text = DOCUMENT.read_text(encoding="utf-8")

    def test_repositories_are_those_of_the_workspace(self):
        wanted = repositories((ROOT / "WORKSPACE").read_text(encoding="utf-8"))
        self.assertGreater(len(wanted), 4)
        self.assertEqual(repositories(self.text), {**wanted, "verbena": "../verbena"})

    def test_targets_and_headers_are_there(self):
        for package, name in re.findall(r"`//([\w/]+)(?::(\w+))?`", self.text):
            build = (ROOT / package / "BUILD.bazel").read_text(encoding="utf-8")
            self.assertIn(f'name = "{name or package.split("/")[-1]}"', build)
        headers = re.findall(r"`((?:rpc|testing)/[\w/]+\.h)`", self.text)
        self.assertGreater(len(headers), 10)
        self.assertEqual([header for header in headers if not (ROOT / header).is_file()], [])


if __name__ == "__main__":
    unittest.main()
