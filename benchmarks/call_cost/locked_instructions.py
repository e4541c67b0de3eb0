"""Which instructions of a program lock: the processor does nothing else until all others can see what they did, which
counts of instructions do not show. A shared_ptr's copy is one, and so is its end; each takes some 5 ns (measured on
Zen 5), as long as sixty instructions of a call."""

import functools
import re
import subprocess

_INSTRUCTION = re.compile(r"\s*([0-9a-f]+):\t(.*)")
# An xchg with memory locks without saying so.
_LOCKS = re.compile(r"lock |mfence|xchg .*\(")


def parse(disassembly):
    """The addresses, of what objdump --disassemble --no-show-raw-insn prints. Raises ValueError if it has none at all."""
    instructions = [match.groups() for match in map(_INSTRUCTION.match, disassembly) if match is not None]
    if not instructions:
        raise ValueError("no instruction was disassembled")
    return frozenset(int(address, 16) for address, text in instructions if _LOCKS.match(text))


@functools.lru_cache
def of_program(path):
    """Raises RuntimeError, with what objdump said."""
    try:
        run = subprocess.run(["objdump", "--disassemble", "--no-show-raw-insn", path],
                             capture_output=True, text=True, check=False)
        return parse(run.stdout.splitlines())
    except OSError as error:
        raise RuntimeError(f"objdump: {error}") from error
    except ValueError as error:
        raise RuntimeError(f"objdump {path}: status {run.returncode}, {error}\n{run.stderr}") from error
