"""What the device says of itself."""

import pyverbs.enums as e
from pair import DEVICE, PORT, equal
from pyverbs.device import Context, get_device_list

names = [device.name.decode() for device in get_device_list()]
equal(names, [DEVICE])

context = Context(name=DEVICE)
plain, extended = context.query_device(), context.query_device_ex()
assert plain.max_qp > 0 and plain.max_cqe > 0 and plain.max_mr > 0 and plain.max_sge >= 2, plain
equal(extended.orig_attr.max_qp, plain.max_qp)
equal(plain.phys_port_cnt, 1)

port = context.query_port(PORT)
equal(port.state, e.IBV_PORT_ACTIVE)
equal(port.link_layer, e.IBV_LINK_LAYER_ETHERNET)
assert port.gid_tbl_len >= 1 and port.pkey_tbl_len >= 1, port

gid = context.query_gid(PORT, 0)
assert len(gid.gid.replace(":", "")) == 32, gid
entries = context.query_gid_table(port.gid_tbl_len)
assert str(gid) in [entry.gid_str() for entry in entries], entries
equal(context.query_gid_ex(PORT, 0).gid_str(), str(gid))
context.query_gid_type(PORT, 0)
context.query_pkey(PORT, 0)
context.close()
print("device: passed")
