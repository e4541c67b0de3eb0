"""How long files and functions may be: 400 and 70 lines."""

import re

from source_tree import Finding, blank_comments_and_strings, blank_preprocessor, line_of

FILE_LINES_MAX = 400
FUNCTION_LINES_MAX = 70
MEASURED_SUFFIXES = (".h", ".cc", ".py", ".sh", ".bzl", ".bazel")

_SCOPE = re.compile(r"\s*(?:export\s+)?(?:inline\s+)?(?:namespace\b|extern\s*\"\s*\")")
_TYPE = re.compile(
    r"\s*(?:template\s*<.*>\s*)?(?:typedef\s+|static\s+|constexpr\s+|const\s+|inline\s+)*(?:class|struct|union|enum)\b",
    re.DOTALL,
)


def check(tree):
    findings = []
    for path, text in tree.files.items():
        lines = text.count("\n") + (not text.endswith("\n") and text != "")
        if path.endswith(MEASURED_SUFFIXES) and lines > FILE_LINES_MAX:
            message = f"{lines} lines; at most {FILE_LINES_MAX}: give each concept a file of its own"
            findings.append(Finding(path, FILE_LINES_MAX + 1, message))
    for path, text in tree.cpp().items():
        for name, first, last in functions(text):
            if last - first + 1 > FUNCTION_LINES_MAX:
                message = f"{name} has {last - first + 1} lines; at most {FUNCTION_LINES_MAX}: name its parts"
                findings.append(Finding(path, first, message))
    return findings


def functions(text):
    """Yields (name, first line, last line) of every function body that stands in a namespace or a type.

    Counts braces. A brace opens a scope or a type by its keyword, a function if what stands before it has parentheses
    and no `=` outside them, and otherwise an initializer. What is inside a function belongs to it.
    """
    code = blank_preprocessor(blank_comments_and_strings(text))
    open_braces = []  # (kind, name, offset where the statement began)
    depth_of_function = 0
    statement = 0
    parentheses = 0
    for match in re.finditer(r"[{};()]", code):
        char, at = match.group(0), match.start()
        if char == "(":
            parentheses += 1
        elif char == ")":
            parentheses -= 1
        elif char == "{":
            kind, name = ("inner", "") if depth_of_function else _what_opens(code[statement:at], parentheses)
            depth_of_function += bool(depth_of_function) or kind == "function"
            open_braces.append((kind, name, statement))
            if kind != "inner" or depth_of_function:
                statement = at + 1
        elif char == "}" and open_braces:
            kind, name, began = open_braces.pop()
            depth_of_function -= bool(depth_of_function)
            if kind == "function":
                first = began + len(code[began:]) - len(code[began:].lstrip())
                yield name, line_of(code, first), line_of(code, at)
            if kind != "inner":
                statement = at + 1
        elif char == ";" and parentheses == 0:
            statement = at + 1


def _what_opens(before, parentheses):
    """The kind of a brace outside functions, and its function's name. Before it stands the statement `before`."""
    before = re.sub(r"^\s*(?:(?:public|private|protected)\s*:(?!:)\s*)+", "", before)
    if parentheses > 0:
        return "inner", ""
    if _SCOPE.match(before):
        return "scope", ""
    without_attributes = re.sub(r"\b(?:alignas|__attribute__|[A-Z][A-Z_]+)\s*\([^()]*\)", "", before)
    if _TYPE.match(before) and "(" not in without_attributes:
        return "type", ""
    bare = _without_parentheses(before)
    if "()" not in bare or re.search(r"(?<!operator)(?<!operator[=!<>+\-*/%&|^])=(?!=)", bare):
        return "inner", ""
    name = re.search(r"((?:operator\s*\S+?)|~?[\w:]+)\s*\(", before)
    return "function", name.group(1) if name else "a function"


def _without_parentheses(text):
    """`text` with what stands in parentheses and template brackets' defaults dropped: "f(int a = 1)" -> "f()"."""
    text = re.sub(r"^\s*template\s*<.*?>\s*(?=\w)", "", text, flags=re.DOTALL)
    while True:
        shorter = re.sub(r"\([^()]+\)", "()", text)
        shorter = re.sub(r"\(\s*\(\)[\s()]*\)", "()", shorter)
        if shorter == text:
            return text
        text = shorter
