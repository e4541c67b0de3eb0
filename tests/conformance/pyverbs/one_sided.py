"""RDMA WRITE, READ, WRITE with immediate, and a wrong key."""

import pyverbs.enums as e
from pair import BYTES, connected, equal

left, right = connected()
remote = (right.memory.rkey, right.memory.buf)

left.write(b"written from afar")
left.post(e.IBV_WR_RDMA_WRITE, length=17, remote=remote)
equal(left.succeeded().opcode, e.IBV_WC_RDMA_WRITE)
equal(right.read(17), b"written from afar")

right.write(b"read from afar")
left.post(e.IBV_WR_RDMA_READ, length=14, remote=remote)
equal(left.succeeded().opcode, e.IBV_WC_RDMA_READ)
equal(left.read(14), b"read from afar")

right.post_receive()
left.post(e.IBV_WR_RDMA_WRITE_WITH_IMM, length=BYTES, imm=7, remote=remote)
left.succeeded()
received = right.succeeded()
equal((received.opcode, received.byte_len, received.imm_data), (e.IBV_WC_RECV_RDMA_WITH_IMM, BYTES, 7))

left.post(e.IBV_WR_RDMA_READ, length=14, remote=(right.memory.rkey + 1, right.memory.buf))
equal(left.completion().status, e.IBV_WC_REM_ACCESS_ERR)

left, right = connected()
left.post(e.IBV_WR_RDMA_WRITE, length=2, remote=(right.memory.rkey, right.memory.buf + BYTES - 1))
equal(left.completion().status, e.IBV_WC_REM_ACCESS_ERR)
print("one_sided: passed")
