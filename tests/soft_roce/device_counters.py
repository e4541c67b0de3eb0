"""What a kernel's RDMA device counts, and what of it must not grow while nothing is at fault."""

import re

# Receiver not ready, sent or met, and packets given up: rxe's rcvd_rnr_err, send_rnr_err, retry_exceeded_err,
# retry_rnr_exceeded_err, and whatever another device calls the same.
_MUST_NOT_GROW = re.compile(r"rnr|retry.*exceeded")


def parse(text):
    """{"rxe0/1/send_rnr_err": 0, …} of lines `/sys/class/infiniband/rxe0/ports/1/hw_counters/send_rnr_err:0`."""
    counters = {}
    for line in text.splitlines():
        path, _, value = line.rpartition(":")
        parts = path.split("/")
        if len(parts) >= 5 and parts[-2] == "hw_counters" and value.isdigit():
            counters["/".join((parts[-5], parts[-3], parts[-1]))] = int(value)
    return counters


def watched(counters):
    """The names of those that must not grow; a device may have none."""
    return [name for name in counters if _MUST_NOT_GROW.search(name.rpartition("/")[2])]


def growth(before, after):
    """What must not have grown and did, in words."""
    return [
        f"{name} grew from {before.get(name, 0)} to {after[name]}"
        for name in watched(after)
        if after[name] > before.get(name, 0)
    ]
