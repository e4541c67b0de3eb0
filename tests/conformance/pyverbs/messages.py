"""SEND and RECEIVE: data, immediate data, inline, several segments, too long a message, a flushed queue."""

import pyverbs.enums as e
from pair import RecvWR, SendWR, connected, equal

left, right = connected()

right.post_receive(wr_id=1)
left.write(b"a message")
left.post(e.IBV_WR_SEND, length=9)
left.succeeded()
received = right.succeeded()
equal((received.opcode, received.wr_id, received.byte_len), (e.IBV_WC_RECV, 1, 9))
equal(received.qp_num, right.qp.qp_num)
equal(right.read(9), b"a message")

right.post_receive()
left.post(e.IBV_WR_SEND_WITH_IMM, length=0, imm=0x12345678)
left.succeeded()
received = right.succeeded()
assert received.wc_flags & e.IBV_WC_WITH_IMM
equal(received.imm_data, 0x12345678)

right.post_receive()
left.write(b"inline")
left.post(e.IBV_WR_SEND, length=6, flags=e.IBV_SEND_SIGNALED | e.IBV_SEND_INLINE)
left.write(b"change")  # The bytes were taken when it was posted.
left.succeeded()
right.succeeded()
equal(right.read(6), b"inline")

left.write(b"first, ", 0)
left.write(b"second", 100)
right.qp.post_recv(RecvWR(num_sge=2, sg=[right.sge(0, 5), right.sge(200, 100)]))
left.qp.post_send(SendWR(num_sge=2, sg=[left.sge(0, 7), left.sge(100, 6)], send_flags=e.IBV_SEND_SIGNALED))
left.succeeded()
equal(right.succeeded().byte_len, 13)
equal(right.read(5) + right.read(8, 200), b"first, second")

right.post_receive(length=8)
left.post(e.IBV_WR_SEND, length=9)
equal(right.completion().status, e.IBV_WC_LOC_LEN_ERR)
equal(left.completion().status, e.IBV_WC_REM_INV_REQ_ERR)
left.post(e.IBV_WR_SEND, length=1)
equal(left.completion().status, e.IBV_WC_WR_FLUSH_ERR)
print("messages: passed")
