"""Protection domains, memory regions and what they refuse."""

import errno

import pyverbs.enums as e
from pair import BYTES, EVERYTHING, Context, DEVICE, MR, PD, PyverbsRDMAError, equal, refused

context = Context(name=DEVICE)
domain = PD(context)
region = MR(domain, BYTES, EVERYTHING)
region.write(b"some bytes", 10, 100)
equal(region.read(10, 100), b"some bytes")
assert region.lkey and region.rkey

equal(refused(MR, domain, BYTES, e.IBV_ACCESS_REMOTE_WRITE), errno.EINVAL)  # Without LOCAL_WRITE.

many = [MR(domain, BYTES, e.IBV_ACCESS_LOCAL_WRITE) for _ in range(200)]
equal(len({each.rkey for each in many}), 200)
for each in many:
    each.close()

MR(domain, BYTES, e.IBV_ACCESS_LOCAL_WRITE | e.IBV_ACCESS_RELAXED_ORDERING).close()
domain.close()  # Closes its regions first.
context.close()
print("memory: passed")
