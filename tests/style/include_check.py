"""Who may include whom: the floors, and the arrows that must never exist.

A file includes its own floor and lower ones. What is listed in the design as "arrows that must never exist" is
checked on top of that, and a public header is checked with everything that it includes in turn.
"""

import re

from source_tree import Finding, blank_comments_and_strings, is_test_code, line_of

# Longest prefix wins. base/ is below them all.
FLOORS = {
    "base/": -1,
    "transport/wire/": 0,
    "transport/protocol/": 1,
    "transport/verbs/": 2,
    "transport/soft/": 2,
    "transport/": 3,
    "rpc/core/": 4,
    "rpc/": 5,
    "codegen/": 6,
    "testing/": 6,
    "examples/": 7,
    "tools/": 7,
}

SANS_IO = ("base/", "transport/wire/", "transport/protocol/", "rpc/core/")
SANS_IO_FORBIDDEN = {
    "threads": r"thread|mutex|shared_mutex|condition_variable|future|stop_token|semaphore|latch|barrier|pthread\.h"
    r"|semaphore\.h|sched\.h|absl/synchronization/.*|absl/base/internal/spinlock\.h",
    "clocks": r"chrono|ctime|time\.h|sys/time\.h|sys/timerfd\.h|absl/time/clock\.h",
    "logging": r"iostream|syslog\.h|absl/log/.*|transport/log\.h",
    "sockets": r"sys/socket\.h|sys/un\.h|netinet/.*|arpa/inet\.h|netdb\.h|poll\.h|sys/epoll\.h|sys/eventfd\.h"
    r"|unistd\.h",
}

# The same without an include of its own: names that come in through other headers.
SANS_IO_NAMES = re.compile(
    r"\b(?:std::(?:thread|jthread|mutex|condition_variable|this_thread|chrono|cout|cerr|clog)"
    r"|absl::(?:Now|Mutex|SleepFor)|clock_gettime|gettimeofday|usleep|nanosleep|f?printf|syslog)\b"
)
VERBS_NAMES = re.compile(
    r"\b(?:(?:ibv|IBV|rdma_cm|RDMA_CM)_\w+"
    r"|rdma_(?:create|destroy|bind|resolve|listen|connect|accept|reject|disconnect|event_channel|conn_param)\w*)\b"
)

# All that rpc may know of transport: the connection, the factories with the loops that they take, authenticators,
# payload memory, and the log, of which a process has one, with the log of refusals; and how threads are started.
TRANSPORT_FOR_RPC = {
    "transport/audit_log.h",
    "transport/authentication.h",
    "transport/connection.h",
    "transport/deadline_timer.h",
    "transport/endpoint.h",
    "transport/event_loop.h",
    "transport/loop_handle.h",
    "transport/log.h",
    "transport/payload_memory.h",
    "transport/registered_memory.h",
    "transport/run_logging.h",
    "transport/start_thread.h",
}

# What unit tests of users include leads to the public API: the doubles behind it are not theirs.
PUBLIC_TESTING = re.compile(r"testing/(?:in_process_server|virtual_time_server|network_faults)\.h")

# All that the coroutine layer knows beside itself: calls stand on it, not under it.
BELOW_COROUTINES = ("rpc/coroutine/", "transport/event_loop.h", "transport/loop_handle.h")

# All that name sources know beside themselves: what they hand out, when to try again, how a thread is started, and the
# log. They stand beside calls.
BELOW_NAMES = (
    "rpc/names/",
    "rpc/core/balancing/server_address.h",
    "rpc/core/reconnect.h",
    "rpc/core/split_mix.h",
    "transport/log.h",
    "transport/run_logging.h",
    "transport/start_thread.h",
)

# Headers that must not lead to a verbs header, however far.
SEAMS = re.compile(
    r"(?:rpc/(?:auth/|coroutine/|names/)?|testing/)[^/]+\.h|"
    + "|".join(re.escape(header) for header in sorted(TRANSPORT_FOR_RPC))
)

# Who may name verbs headers.
VERBS_USERS = re.compile(r"transport/(verbs/|soft/|[^/]+$)|benchmarks/|tests/")

# Siblings by the beginnings of their paths.
STRANGERS_ON_ONE_FLOOR = (
    ("transport/protocol/eager", "transport/protocol/rendezvous"),
    ("rpc/core/client_session", "rpc/core/server_session"),
)

VERBS_HEADER = re.compile(r"(infiniband|rdma)/")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"]+)"|<([^>]+)>)', re.MULTILINE)
FOREIGN = ("absl/", "gtest/", "gmock/", "google/", "grpc", "benchmark/")
GENERATED = re.compile(r"\.(pb|verbena|grpc\.pb|capnp)\.h$")


def check(tree):
    findings = []
    for path, text in tree.cpp().items():
        for line, target, quoted in includes(text):
            for message in _judge(path, target, quoted, tree):
                findings.append(Finding(path, line, message))
        findings += _seam_leads_to_verbs(path, tree)
        findings += _names(path, text)
    return findings


def includes(text):
    """Yields (line, what is included, whether in quotes)."""
    for match in INCLUDE.finditer(text):
        yield line_of(text, match.start(match.lastindex)), match.group(1) or match.group(2), match.group(1) is not None


def floor_of(path):
    prefixes = [prefix for prefix in FLOORS if path.startswith(prefix)]
    return FLOORS[max(prefixes, key=len)] if prefixes else None


def _judge(path, target, quoted, tree):
    yield from _exists(target, quoted, tree)
    yield from _floors(path, target)
    yield from _sans_io(path, target)
    yield from _verbs(path, target)
    yield from _rpc(path, target)
    yield from _codegen_and_examples(path, target)
    yield from _doubles(path, target)
    yield from _strangers_on_one_floor(path, target)


def _exists(target, quoted, tree):
    if not quoted or target in tree.files or target.startswith(FOREIGN) or GENERATED.search(target):
        return
    yield f'"{target}" is no file of this repository; include by path from the root, or with <> what is the system\'s'


def _floors(path, target):
    floor, below = floor_of(path), floor_of(target)
    if floor is not None and below is not None and below > floor:
        yield f"floor {floor} includes {target} of floor {below}; move what is needed down, or pass it in"


def _sans_io(path, target):
    if not path.startswith(SANS_IO) or is_test_code(path):
        return
    for what, pattern in SANS_IO_FORBIDDEN.items():
        if re.fullmatch(pattern, target):
            yield f"sans-IO code includes {what} ({target}); take events and a `now`, and return actions"


def _verbs(path, target):
    if VERBS_HEADER.match(target) and not VERBS_USERS.match(path):
        yield f"only transport/verbs, transport/soft and the files that drive them may include {target}"
    if path.startswith("transport/verbs/") and target.startswith("transport/soft/") and not is_test_code(path):
        yield "the handles do not know which device is below; choose the table on floor 3"


def _rpc(path, target):
    if path.startswith("rpc/") and target.startswith("transport/") and target not in TRANSPORT_FOR_RPC:
        yield f"rpc knows of transport only {', '.join(sorted(TRANSPORT_FOR_RPC))}; not {target}"
    if path.startswith("rpc/coroutine/") and not is_test_code(path):
        if target.startswith(("rpc/", "transport/")) and not target.startswith(BELOW_COROUTINES):
            yield f"the coroutine layer knows of Verbena only {', '.join(BELOW_COROUTINES)}; not {target}"
    if path.startswith("rpc/names/") and target.startswith(("rpc/", "transport/")):
        if not target.startswith(BELOW_NAMES):
            yield f"name sources know of Verbena only {', '.join(BELOW_NAMES)}; not {target}"


def _codegen_and_examples(path, target):
    if path.startswith("codegen/") and not is_test_code(path) and target.startswith(("rpc/", "transport/")):
        yield f"the generator prints the runtime's names but does not include {target}"
    if path.startswith("examples/") and target.startswith(("transport/", "codegen/", "rpc/core/", "rpc/testing/")):
        yield f"examples include generated code and the public headers rpc/*.h only; not {target}"


def _doubles(path, target):
    if PUBLIC_TESTING.fullmatch(path) and target.startswith("rpc/") and target.count("/") > 1:
        yield f"a header for users' tests includes public headers only; not {target}"
    if is_test_code(target) and not is_test_code(path) and floor_of(target) is not None:
        yield f"production code includes the testing double {target}"


def _strangers_on_one_floor(path, target):
    for one, other in STRANGERS_ON_ONE_FLOOR:
        if is_test_code(path):
            continue
        if (path.startswith(one) and target.startswith(other)) or (path.startswith(other) and target.startswith(one)):
            yield f"{one}* and {other}* do not know each other; they meet one floor up"


def _names(path, text):
    code = blank_comments_and_strings(text)
    if path.startswith(SANS_IO) and not is_test_code(path):
        for match in SANS_IO_NAMES.finditer(code):
            message = f"sans-IO code uses {match.group(0)}; take events and a `now`, and return actions"
            yield Finding(path, line_of(code, match.start()), message)
    if path.startswith(("rpc/", "testing/", "examples/")) or SEAMS.fullmatch(path):
        for match in VERBS_NAMES.finditer(code):
            message = f"{match.group(0)} above the transport; say it in the words of connection.h"
            yield Finding(path, line_of(code, match.start()), message)


def _seam_leads_to_verbs(path, tree):
    if not SEAMS.fullmatch(path):
        return
    for line, target, _ in includes(tree.files[path]):
        way = _way_to_verbs(target, tree, seen=set())
        if way and not VERBS_HEADER.match(target):  # A direct include is reported by _verbs or below.
            yield Finding(path, line, "a seam header must not lead to verbs headers: " + " -> ".join(way))
        elif way and path.startswith("transport/"):
            yield Finding(path, line, f"a seam header must not include {target}")


def _way_to_verbs(target, tree, seen):
    if VERBS_HEADER.match(target):
        return [target]
    if target in seen or target not in tree.files:
        return None
    seen.add(target)
    for _, deeper, _ in includes(tree.files[target]):
        way = _way_to_verbs(deeper, tree, seen)
        if way:
            return [target] + way
    return None
