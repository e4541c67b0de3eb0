"""Completion channels, solicited events, resize."""

import errno

import pyverbs.enums as e
from pair import DEPTH, connected, equal, refused
from pyverbs.cq import CompChannel

left, right = connected(channel_of=CompChannel)

right.cq.req_notify()
right.post_receive()
left.post(e.IBV_WR_SEND, length=1)
right.channel.get_cq_event(right.cq)
right.cq.ack_events(1)
right.succeeded()
left.succeeded()

right.cq.req_notify(solicited_only=True)
for flags in (0, e.IBV_SEND_SOLICITED):
    right.post_receive()
    left.post(e.IBV_WR_SEND, length=1, flags=e.IBV_SEND_SIGNALED | flags)
    left.succeeded()
right.channel.get_cq_event(right.cq)
right.cq.ack_events(1)
right.succeeded()
right.succeeded()

for _ in range(DEPTH):
    right.post_receive()
for _ in range(DEPTH):
    left.post(e.IBV_WR_SEND, length=1)
    left.succeeded()
right.cq.resize(4 * DEPTH)
assert right.cq.cqe >= 4 * DEPTH
equal(refused(right.cq.resize, 1), errno.EINVAL)  # It holds more.
for _ in range(DEPTH):
    right.succeeded()
print("completion_queues: passed")
