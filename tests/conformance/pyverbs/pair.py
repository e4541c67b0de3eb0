"""Two queue pairs of one process, connected by what a program would tell its peer: number and GID."""

import time

import pyverbs.enums as e
from pyverbs.addr import AHAttr, GlobalRoute
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.pyverbs_error import PyverbsRDMAError
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.wr import SGE, RecvWR, SendWR

DEVICE = "soft0"
PORT = 1
BYTES = 4096
DEPTH = 32
SECONDS_MAX = 10
REMOTE = e.IBV_ACCESS_REMOTE_READ | e.IBV_ACCESS_REMOTE_WRITE | e.IBV_ACCESS_REMOTE_ATOMIC
EVERYTHING = REMOTE | e.IBV_ACCESS_LOCAL_WRITE


class End:
    """A context with a protection domain, memory, a completion queue and a queue pair."""

    def __init__(self, srq_attributes=None, channel_of=None, make_cq=None, make_qp=None, access=EVERYTHING):
        self.context = Context(name=DEVICE)
        self.domain = PD(self.context)
        self.memory = MR(self.domain, BYTES, access)
        self.channel = channel_of(self.context) if channel_of else None
        self.cq = make_cq(self.context) if make_cq else CQ(self.context, DEPTH, None, self.channel, 0)
        self.srq = srq_attributes(self.domain) if srq_attributes else None
        self.capacity = QPCap(max_send_wr=DEPTH, max_recv_wr=DEPTH, max_send_sge=2, max_recv_sge=2, max_inline_data=64)
        self.qp = make_qp(self) if make_qp else QP(self.domain, self.init_attributes())

    def init_attributes(self):
        return QPInitAttr(
            qp_type=e.IBV_QPT_RC, scq=self.cq, rcq=self.cq, srq=self.srq, cap=self.capacity, sq_sig_all=1
        )

    def connect(self, peer):
        attributes = QPAttr(port_num=PORT)
        attributes.qp_access_flags = REMOTE
        attributes.dest_qp_num = peer.qp.qp_num
        attributes.path_mtu = e.IBV_MTU_1024
        attributes.rq_psn = attributes.sq_psn = 0
        attributes.max_rd_atomic = attributes.max_dest_rd_atomic = 4
        attributes.min_rnr_timer = 12
        attributes.timeout = 14
        attributes.retry_cnt = attributes.rnr_retry = 7
        route = GlobalRoute(dgid=peer.context.query_gid(PORT, 0), sgid_index=0)
        attributes.ah_attr = AHAttr(gr=route, is_global=1, port_num=PORT)
        self.qp.to_rts(attributes)

    def sge(self, offset=0, length=BYTES):
        return SGE(self.memory.buf + offset, length, self.memory.lkey)

    def post_receive(self, wr_id=0, offset=0, length=BYTES):
        self.queue_of_receives().post_recv(RecvWR(wr_id=wr_id, num_sge=1, sg=[self.sge(offset, length)]))

    def queue_of_receives(self):
        return self.srq or self.qp

    def post(self, opcode, offset=0, length=BYTES, flags=e.IBV_SEND_SIGNALED, imm=0, remote=None, atomic=None):
        """`remote` is (key, address) of the peer's memory, `atomic` (compare or add, swap)."""
        request = SendWR(
            opcode=opcode, num_sge=1, sg=[self.sge(offset, length)], send_flags=flags, imm_data=imm
        )
        if atomic:
            request.set_wr_atomic(*remote, *atomic)
        elif remote:
            request.set_wr_rdma(*remote)
        self.qp.post_send(request)

    def completion(self):
        """The next one."""
        deadline = time.monotonic() + SECONDS_MAX
        while time.monotonic() < deadline:
            count, completions = self.cq.poll(1)
            if count:
                return completions[0]
        raise AssertionError("no completion")

    def succeeded(self):
        completion = self.completion()
        equal(completion.status, e.IBV_WC_SUCCESS)
        return completion

    def write(self, text, offset=0):
        self.memory.write(text, len(text), offset)

    def read(self, length, offset=0):
        return self.memory.read(length, offset)


def connected(**of_both):
    left, right = End(**of_both), End(**of_both)
    left.connect(right)
    right.connect(left)
    return left, right


def equal(found, expected):
    assert found == expected, f"{found!r}, not {expected!r}"


def refused(call, *arguments):
    """The errno with which the device refuses the call."""
    try:
        call(*arguments)
    except PyverbsRDMAError as error:
        return error.error_code
    raise AssertionError("not refused")
