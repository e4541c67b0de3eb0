#!/usr/bin/env python3
"""Prints what one call costs, both ends together: instructions by layer, allocations, locks, locked instructions,
system calls, doorbells, posts of receives, copies.

  bazel build //benchmarks/call_cost && benchmarks/call_cost/call_cost.py [--payload=64] [--in_flight=1]
    [--connections=1] [--functions=N] [what else call_cost takes]
"""

import argparse
import pathlib
import sys

import counts
import layers

_PROGRAM = pathlib.Path(__file__).resolve().parents[2] / "bazel-bin/benchmarks/call_cost/call_cost"


def print_counts(measured, functions):
    for layer in layers.ORDER:
        print(f"{measured.instructions[layer]:9.0f}  {layer}")
    print(f"{measured.without_device():9.0f}  without the software device\n")
    print(f"{measured.allocations:9.2f}  allocations")
    print(f"{measured.locks:9.2f}  locks")
    print(f"{measured.locked_instructions:9.2f}  locked instructions of the program's own code, without the software device")
    print(f"{measured.system_calls:9.2f}  system calls")
    print(f"{measured.doorbells:9.2f}  doorbells")
    print(f"{measured.receive_posts:9.3f}  posts of receives")
    print(f"{measured.copies:9.2f}  copies by libc")
    for instructions, layer, function in measured.functions[:functions]:
        print(f"{instructions:9.1f}  {layer}: {function}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--functions", type=int, default=0, help="how many of the dearest functions to list")
    options, of_the_program = parser.parse_known_args()
    try:
        measured = counts.measure(_PROGRAM, *of_the_program)
    except RuntimeError as error:
        sys.exit(str(error))
    print_counts(measured, options.functions)


if __name__ == "__main__":
    main()
