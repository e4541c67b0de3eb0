"""What a file of callgrind says: instructions by function and by address, and how often each function was called."""

import collections
import dataclasses
import re

_NAMED = re.compile(r"\((\d+)\)(?: (.*))?$")


@dataclasses.dataclass
class Profile:
    # By (object, function): instructions in the function itself.
    instructions: collections.Counter
    # By function.
    calls: collections.Counter
    # By (object, function, address), where the file has addresses (--dump-instr=yes): how often it was executed.
    executions: collections.Counter = dataclasses.field(default_factory=collections.Counter)

    def total(self):
        return self.instructions.total()


class _Names:
    """Names that the file writes once, with a number, and by that number afterwards."""

    def __init__(self):
        self._by_number = {}

    def resolve(self, text):
        match = _NAMED.match(text)
        if match is None:
            return text
        number, name = match.groups()
        if name is not None:
            self._by_number[number] = name
        return self._by_number[number]


class _Address:
    """Addresses that the file writes relative to the one before."""

    def __init__(self):
        self._last = 0

    def resolve(self, text):
        if text[0] in "+-":
            self._last += int(text)
        elif text != "*":
            self._last = int(text, 16)
        return self._last


def parse(lines):
    """Raises ValueError if a line is none of callgrind's, or nothing was collected."""
    profile = Profile(collections.Counter(), collections.Counter())
    objects, functions, addresses = _Names(), _Names(), _Address()
    current = ("", "")
    callee, call_cost_follows, has_addresses = "", False, False
    for line in lines:
        line = line.rstrip("\n")
        key, _, value = line.partition("=")
        if line == "positions: instr line":
            has_addresses = True
        elif key == "ob":
            current = (objects.resolve(value), current[1])
        elif key == "cob":
            objects.resolve(value)
        elif key == "fn":
            current = (current[0], functions.resolve(value))
        elif key == "cfn":
            callee = functions.resolve(value)
        elif key == "calls":
            profile.calls[callee] += int(value.split()[0])
            call_cost_follows = True
        elif line[:1] in tuple("0123456789+-*"):
            fields = line.split()
            address = addresses.resolve(fields[0]) if has_addresses else None
            # The line behind calls= has what the callee cost, which is counted there.
            if not call_cost_follows:
                profile.instructions[current] += int(fields[-1])
                if has_addresses:
                    profile.executions[(*current, address)] += int(fields[-1])
            call_cost_follows = False
        elif line and not re.match(r"[a-z]+[=:] ?", line) and not line.startswith("#"):
            raise ValueError(f"not a line of callgrind's: {line}")
    if not profile.instructions:
        raise ValueError("nothing was collected")
    return profile
