"""To which layer of a call a function belongs."""

import re

_BY_OBJECT = (("libprotobuf", "protobuf"), ("libabsl", "absl"), ("libc.so", "libc"), ("libstdc++", "libstdc++"))
_BY_NAMESPACE = (
    ("verbena::soft::", "software device"),
    ("verbena::transport::", "transport"),
    ("verbena::protocol::", "transport"),
    ("verbena::wire::", "transport"),
    ("verbena::verbs::", "transport"),
    ("verbena::rpc::", "rpc"),
    ("verbena::benchmarks::Bytes", "protobuf"),
    ("verbena::benchmarks::", "program"),
    ("verbena::", "rpc"),
    ("google::protobuf", "protobuf"),
    ("absl::", "absl"),
    ("std::", "libstdc++"),
)
DEVICE = "software device"
ORDER = ("rpc", "transport", "protobuf", "absl", "libstdc++", "libc", "program", "other", DEVICE)


def layer_of(object_name, function):
    # A template of a library belongs to whom it is made for: the first of ours that its name has.
    for part, layer in _BY_OBJECT:
        if part in object_name.rsplit("/", 1)[-1]:
            return layer
    ours = re.search(r"verbena::[a-z_]+::", function)
    for prefix, layer in _BY_NAMESPACE:
        if function.startswith(prefix):
            if layer in ("absl", "libstdc++") and ours is not None:
                return layer_of("", function[ours.start():])
            return layer
    return "other"
