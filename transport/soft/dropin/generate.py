"""Makes what the linker needs of symbols.txt: version scripts, and the functions that refuse.

    generate.py symbols.txt OUTPUT_DIRECTORY
"""

import collections
import pathlib
import re
import sys

Symbol = collections.namedtuple("Symbol", "node name answer old")

# In C, not C++: declarations of the header would contradict these, which take whatever they are given and read none of
# it.
REFUSALS = """\
/* Generated from symbols.txt. */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

static int answer_errno(void) { return EOPNOTSUPP; }

static long answer_minus_one(void) {
  errno = EOPNOTSUPP;
  return -1;
}

static void *answer_null(void) {
  errno = EOPNOTSUPP;
  return NULL;
}

static long answer_zero(void) { return 0; }

static void answer_nothing(void) {}
"""


def read_symbols(text):
    symbols = []
    for line in text.splitlines():
        words = line.partition("#")[0].split()
        if words:
            old = words[0] == "old"
            symbols.append(Symbol(*words[old:], old))
    return symbols


def library_of(node):
    return "librdmacm.so.1" if node.startswith("RDMACM") else "libibverbs.so.1"


def is_private(node):
    return "PRIVATE" in node


def version_script(symbols):
    """One node for each version, oldest first; all else is hidden."""
    nodes = {}
    for symbol in symbols:
        names = nodes.setdefault(symbol.node, [])
        if not symbol.old:
            names.append(symbol.name)
    in_order = sorted(nodes, key=lambda node: [int(number) for number in re.findall(r"\d+", node)])
    return "".join(_node(node, nodes[node], hides_rest=node == in_order[0]) for node in in_order)


def empty_version_script(symbols):
    """The versions alone."""
    return version_script([symbol._replace(old=True) for symbol in symbols])


def preload_script(symbols):
    """No versions: then a name satisfies every version. Without what only drivers of NICs call, which have their own."""
    names = [s.name for s in symbols if not s.old and (s.answer == "device" or not is_private(s.node))]
    return _node("", names, hides_rest=True)


def _node(node, names, hides_rest):
    exports = "".join(f"    {name};\n" for name in sorted(names))
    return f"{node} {{\n" + f"  global:\n{exports}" * bool(names) + "  local: *;\n" * hides_rest + "};\n"


def refusals(symbols):
    text = REFUSALS
    for symbol in symbols:
        if symbol.answer == "device":
            continue
        if symbol.answer == "false":
            text += f"\nbool {symbol.name} = false;\n"
            continue
        target = f"answer_{symbol.answer}"
        c_name = f"old_{symbol.name}" if symbol.old else symbol.name
        text += f'\nextern __typeof__({target}) {c_name} __attribute__((alias("{target}")));\n'
        if symbol.old:
            text += f'__asm__(".symver {c_name}, {symbol.name}@{symbol.node}");\n'
    return text


def main(symbols_path, output):
    symbols = read_symbols(pathlib.Path(symbols_path).read_text(encoding="utf-8"))
    output = pathlib.Path(output)
    by_name = {
        "libibverbs.map": version_script(symbols),
        "librdmacm.map": empty_version_script([s for s in symbols if library_of(s.node) == "librdmacm.so.1"]),
        "preload.map": preload_script(symbols),
        "refusals.c": refusals(symbols),
        "refusals_preload.c": refusals([s for s in symbols if not s.old and not is_private(s.node)]),
    }
    for name, text in by_name.items():
        (output / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
