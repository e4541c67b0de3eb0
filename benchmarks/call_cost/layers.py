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
    for part, layer in _BY_OBJECT:
        if part in object_name.rsplit("/", 1)[-1]:
            return layer
    layer = _by_namespace(re.split(r"[<(]", function, maxsplit=1)[0].rsplit(" ", 1)[-1])  # Without a result in front.
    # A template of a library belongs to whom it is made for: the first of ours that it names.
    ours = re.search(r"verbena::[a-z_]+::.*", function) if layer in ("absl", "libstdc++") else None
    return layer if ours is None else _by_namespace(ours.group())


def _by_namespace(name):
    return next((layer for prefix, layer in _BY_NAMESPACE if name.startswith(prefix)), "other")
