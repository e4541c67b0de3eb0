"""A memory window of type 2: bound, used, invalidated by its owner and by its user."""

import pyverbs.enums as e
from pair import BYTES, EVERYTHING, SendWR, connected, equal
from pyverbs.mr import MW, MWBindInfo

left, right = connected(access=EVERYTHING | e.IBV_ACCESS_MW_BIND)


def bind():
    """pyverbs asks for the window's key with its last byte one higher."""
    request = SendWR(opcode=e.IBV_WR_BIND_MW, send_flags=e.IBV_SEND_SIGNALED)
    range_of_it = MWBindInfo(right.memory, right.memory.buf, BYTES // 2, e.IBV_ACCESS_REMOTE_WRITE)
    request.set_bind_wr(window, range_of_it)
    right.qp.post_send(request)
    return right.succeeded()


window = MW(right.domain, e.IBV_MW_TYPE_2)
key = (window.rkey & 0xFFFFFF00) | ((window.rkey + 1) & 0xFF)
equal(bind().opcode, e.IBV_WC_BIND_MW)

left.write(b"through a window")
left.post(e.IBV_WR_RDMA_WRITE, length=16, remote=(key, right.memory.buf))
left.succeeded()
equal(right.read(16), b"through a window")

right.post_receive()
request = SendWR(
    opcode=e.IBV_WR_SEND_WITH_INV, num_sge=1, sg=[left.sge(0, 1)], imm_data=key, send_flags=e.IBV_SEND_SIGNALED
)
left.qp.post_send(request)
left.succeeded()
assert right.succeeded().wc_flags & e.IBV_WC_WITH_INV

left.post(e.IBV_WR_RDMA_WRITE, length=16, remote=(key, right.memory.buf))
equal(left.completion().status, e.IBV_WC_REM_ACCESS_ERR)
print("windows: passed")
