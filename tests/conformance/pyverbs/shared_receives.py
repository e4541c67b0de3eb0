"""A shared receive queue: use, query, limit event."""

import pyverbs.enums as e
from pair import DEPTH, connected, equal
from pyverbs.srq import SRQ, SrqAttr, SrqInitAttr

left, right = connected(
    srq_attributes=lambda domain: SRQ(domain, SrqInitAttr(SrqAttr(max_wr=DEPTH, max_sge=1)))
)
for wr_id in range(4):
    right.post_receive(wr_id=wr_id)
right.srq.modify(SrqAttr(srq_limit=2), e.IBV_SRQ_LIMIT)
equal(right.srq.query().srq_limit, 2)

for wr_id in range(3):
    left.write(b"message %d" % wr_id)
    left.post(e.IBV_WR_SEND, length=9)
    left.succeeded()
    equal(right.succeeded().wr_id, wr_id)
    equal(right.read(9), b"message %d" % wr_id)

event = right.context.get_async_event()
equal(event.event_type, e.IBV_EVENT_SRQ_LIMIT_REACHED)
event.ack()
equal(right.srq.query().srq_limit, 0)  # Told once.
print("shared_receives: passed")
