"""Words that say nothing, or say history, in the names of files and types."""

import re

from source_tree import Finding, blank_comments_and_strings, line_of

FORBIDDEN = set("manager managers helper helpers util utils utilities data info impl2 new old".split())

# Words of the verbs specification and of Protocol Buffers, one meaning each.
ALLOWED = ("private_data", "data_path")

_TYPE = re.compile(
    r"\b(?:class|struct|union|enum(?:\s+(?:class|struct))?|concept)\s+"
    r"(?:alignas\s*\([^)]*\)\s*|\[\[[^\]]*\]\]\s*|[A-Z][A-Z_]+\s*(?:\([^)]*\))?\s+)?"  # Attributes.
    r"([A-Za-z_]\w*)(?=\s*(?:final\b|[:{;=]))"
    r"|\busing\s+([A-Za-z_]\w*)\s*="
)


def check(tree):
    findings = []
    for path, text in tree.files.items():
        stem = re.sub(r"\..*", "", path.rsplit("/", 1)[-1])
        for word in forbidden_words(stem):
            message = f'file name has the word "{word}"; name it after the one concept that it holds'
            findings.append(Finding(path, 1, message))
    for path, text in tree.cpp().items():
        code = blank_comments_and_strings(text)
        for match in _TYPE.finditer(code):
            name = match.group(1) or match.group(2)
            for word in forbidden_words(name):
                message = f'type {name} has the word "{word}"; name it after what it is or does'
                findings.append(Finding(path, line_of(code, match.start()), message))
    return findings


def forbidden_words(name):
    """The forbidden words of a CamelCase or snake_case name, whole words only."""
    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()
    for allowed in ALLOWED:
        snake = snake.replace(allowed, "")
    return [word for word in re.split(r"[_\-]+", snake) if word in FORBIDDEN]
