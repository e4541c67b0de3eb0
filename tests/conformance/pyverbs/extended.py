"""Posting by ibv_wr_* and polling by ibv_cq_ex."""

import time

import pyverbs.enums as e
from pair import BYTES, DEPTH, SECONDS_MAX, SGE, connected, equal
from pyverbs.cq import CQEX, CqInitAttrEx, PollCqAttr
from pyverbs.qp import QPEx, QPInitAttrEx

OPERATIONS = (
    e.IBV_QP_EX_WITH_SEND
    | e.IBV_QP_EX_WITH_SEND_WITH_IMM
    | e.IBV_QP_EX_WITH_RDMA_WRITE
    | e.IBV_QP_EX_WITH_RDMA_READ
    | e.IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD
)


def make_cq(context):
    flags = e.IBV_WC_EX_WITH_BYTE_LEN | e.IBV_WC_EX_WITH_IMM | e.IBV_WC_EX_WITH_QP_NUM
    return CQEX(context, CqInitAttrEx(cqe=DEPTH, wc_flags=flags))


def make_qp(end):
    return QPEx(
        end.context,
        QPInitAttrEx(
            qp_type=e.IBV_QPT_RC,
            scq=end.cq,
            rcq=end.cq,
            cap=end.capacity,
            pd=end.domain,
            sq_sig_all=1,
            comp_mask=e.IBV_QP_INIT_ATTR_PD | e.IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
            send_ops_flags=OPERATIONS,
        ),
    )


def next_completion(end):
    """(wr_id, opcode, bytes) of the next."""
    deadline = time.monotonic() + SECONDS_MAX
    while end.cq.start_poll(PollCqAttr()) != 0:
        assert time.monotonic() < deadline, "no completion"
    equal(end.cq.status, e.IBV_WC_SUCCESS)
    completion = (end.cq.wr_id, end.cq.read_opcode(), end.cq.read_byte_len())
    end.cq.end_poll()
    return completion


left, right = connected(make_cq=make_cq, make_qp=make_qp)

right.post_receive(wr_id=5)
left.write(b"extended")
left.qp.wr_start()
left.qp.wr_id = 11
left.qp.wr_flags = e.IBV_SEND_SIGNALED
left.qp.wr_send()
left.qp.wr_set_sge(left.sge(0, 8))
left.qp.wr_complete()
equal(next_completion(left)[:2], (11, e.IBV_WC_SEND))
equal(next_completion(right), (5, e.IBV_WC_RECV, 8))
equal(right.read(8), b"extended")

left.qp.wr_start()  # Two at once, and a third that is dropped with its list.
for wr_id, text in ((1, b"one"), (2, b"two")):
    left.write(text, 16 * wr_id)
    left.qp.wr_id = wr_id
    left.qp.wr_rdma_write(right.memory.rkey, right.memory.buf + 16 * wr_id)
    left.qp.wr_set_sge(left.sge(16 * wr_id, 3))
left.qp.wr_complete()
equal([next_completion(left)[:2] for _ in range(2)], [(1, e.IBV_WC_RDMA_WRITE), (2, e.IBV_WC_RDMA_WRITE)])
equal((right.read(3, 16), right.read(3, 32)), (b"one", b"two"))

left.qp.wr_start()
left.qp.wr_id = 3
left.qp.wr_rdma_write(right.memory.rkey, right.memory.buf)
left.qp.wr_set_sge(SGE(left.memory.buf, BYTES, left.memory.lkey))
left.qp.wr_abort()
equal(right.read(8), b"extended")
assert left.cq.start_poll(PollCqAttr()) != 0
print("extended: passed")
