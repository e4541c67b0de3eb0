"""A queue pair through its states, and what each refuses."""

import errno

import pyverbs.enums as e
from pair import End, QPAttr, connected, equal, refused


def state_of(end):
    return end.qp.query(e.IBV_QP_STATE)[0].qp_state


end = End()
equal(state_of(end), e.IBV_QPS_RESET)
equal(refused(end.qp.modify, QPAttr(qp_state=e.IBV_QPS_RTS), e.IBV_QP_STATE), errno.EINVAL)

left, right = connected()
equal(state_of(left), e.IBV_QPS_RTS)
attributes, made_with = left.qp.query(e.IBV_QP_DEST_QPN | e.IBV_QP_TIMEOUT | e.IBV_QP_CAP)
equal((attributes.dest_qp_num, attributes.timeout), (right.qp.qp_num, 14))
assert made_with.cap.max_send_wr >= 32

left.qp.modify(QPAttr(qp_state=e.IBV_QPS_SQD), e.IBV_QP_STATE)
equal(state_of(left), e.IBV_QPS_SQD)
left.qp.modify(QPAttr(qp_state=e.IBV_QPS_RTS), e.IBV_QP_STATE)

right.post_receive(wr_id=9)
right.qp.modify(QPAttr(qp_state=e.IBV_QPS_ERR), e.IBV_QP_STATE)
flushed = right.completion()
equal((flushed.status, flushed.wr_id), (e.IBV_WC_WR_FLUSH_ERR, 9))
right.qp.modify(QPAttr(qp_state=e.IBV_QPS_RESET), e.IBV_QP_STATE)
equal(state_of(right), e.IBV_QPS_RESET)
print("states: passed")
