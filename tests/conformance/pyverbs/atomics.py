"""Fetch-and-add and compare-and-swap on eight bytes of the peer's."""

import struct

import pyverbs.enums as e
from pair import connected, equal

left, right = connected()
remote = (right.memory.rkey, right.memory.buf)


def value(end):
    return struct.unpack("=Q", end.read(8))[0]


right.write(struct.pack("=Q", 40))
left.post(e.IBV_WR_ATOMIC_FETCH_AND_ADD, length=8, remote=remote, atomic=(2, 0))
equal(left.succeeded().opcode, e.IBV_WC_FETCH_ADD)
equal((value(left), value(right)), (40, 42))

left.post(e.IBV_WR_ATOMIC_CMP_AND_SWP, length=8, remote=remote, atomic=(42, 7))
equal(left.succeeded().opcode, e.IBV_WC_COMP_SWAP)
equal((value(left), value(right)), (42, 7))

left.post(e.IBV_WR_ATOMIC_CMP_AND_SWP, length=8, remote=remote, atomic=(42, 9))  # It is 7: nothing is swapped.
left.succeeded()
equal((value(left), value(right)), (7, 7))

left.post(e.IBV_WR_ATOMIC_FETCH_AND_ADD, length=8, remote=(remote[0], remote[1] + 4), atomic=(1, 0))
equal(left.completion().status, e.IBV_WC_REM_INV_REQ_ERR)
print("atomics: passed")
