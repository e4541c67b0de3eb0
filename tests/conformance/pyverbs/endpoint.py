"""Synchronous ids of the connection manager: endpoint.py server|client HOST PORT."""

import sys

from pyverbs.cmid import CMID, AddrInfo
from pyverbs.qp import QPCap, QPInitAttr
import pyverbs.cm_enums as ce

role, host, port = sys.argv[1:4]
options = QPInitAttr(cap=QPCap(max_send_wr=4, max_recv_wr=4, max_send_sge=1, max_recv_sge=1), sq_sig_all=1)
TEXT = b"from %-6s"


def talk(identity, says, hears):
    """Both send and both receive; the receive was posted before the connection was made."""
    region = identity.reg_msgs(64)
    region.write(TEXT % says, 11)
    identity.post_send(region, length=11)
    identity.get_send_comp()
    completion = identity.get_recv_comp()
    assert completion.byte_len == 11, completion
    return region


if role == "server":
    address = AddrInfo(src=host, src_service=port, port_space=ce.RDMA_PS_TCP, flags=ce.RAI_PASSIVE)
    listener = CMID(creator=address, qp_init_attr=options)
    listener.listen()
    identity = listener.get_request()
else:
    identity = CMID(creator=AddrInfo(dst=host, dst_service=port, port_space=ce.RDMA_PS_TCP), qp_init_attr=options)

landing = identity.reg_msgs(64)
identity.post_recv(landing, length=64)
if role == "server":
    identity.accept()
    talk(identity, b"server", b"client")
    assert landing.read(11, 0) == TEXT % b"client", landing.read(11, 0)
else:
    identity.connect()
    talk(identity, b"client", b"server")
    assert landing.read(11, 0) == TEXT % b"server", landing.read(11, 0)
identity.disconnect()
print("endpoint: passed")
