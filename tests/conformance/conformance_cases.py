"""Programs that others wrote for real NICs, as Debian installs them: what is run, and what is expected of it.

A case passes if both programs exit with 0, the client says what is expected and neither says what is not. A case with a
`gap` is expected to fail, without a crash, for the reason given; docs/conformance.md lists the gaps. Filled in are
{host}, {port}, which is another one for each case, and {programs}, the directory of our own programs.
"""

import dataclasses

PRELOAD = ("preload",)
BOTH = ("preload", "dropin")


@dataclasses.dataclass(frozen=True)
class Case:
    family: str
    name: str
    client: str
    server: str = ""  # If empty, the client is the only program.
    says: str = ""  # A regular expression.
    never_says: str = r"mismatch|invalid data|corrupt"
    server_ends: bool = True
    ways: tuple = PRELOAD
    gap: str = ""
    # What programs say when a loaded machine, and not the device, kept them from their end: they are run again. perftest
    # measures the processor's clock, and gives up where other work disturbs it in that.
    again_if: str = r"Correlation coefficient r\^2"


def alike(family, commands, server="{command} -p {{port}}", client="{command} -p {{port}} {{host}}", name="", **rest):
    """A case for each of `commands`, which are what server and client have in common."""
    return [
        Case(
            family,
            name + command,
            client=client.format(command=command),
            server=server.format(command=command),
            **rest,
        )
        for command in commands
    ]


def alone(family, command, name="", **rest):
    """One program that needs no other."""
    return Case(family, name or command, client=command, **rest)


_NO_DATAGRAMS = "no unreliable datagrams"
_NO_UC = "no unreliable connections"
_NO_XRC = "no extended reliable connections"
_NO_ODP = "no on-demand paging"
_NO_RSOCKETS = "rsockets are the inside of librdmacm, not a user of it"

# ibverbs-utils: queue pairs connected by what the programs tell each other over TCP.
VERBS_UTILS = [
    alone("verbs", "ibv_devices", says=r"^ *soft0\s+[0-9a-f]{16}$", ways=BOTH),
    alone("verbs", "ibv_devinfo -v", says=r"PORT_ACTIVE", ways=BOTH),
    *alike(
        "verbs",
        [
            "ibv_rc_pingpong",
            "ibv_rc_pingpong -g 0",
            "ibv_srq_pingpong -q 16",
        ],
        says=r"bytes in .* seconds",
        ways=BOTH,
    ),
    *alike(
        "verbs",
        [
            "ibv_rc_pingpong -e",
            "ibv_rc_pingpong -c",
            "ibv_rc_pingpong -c -e -n 5000 -s 1",
            "ibv_rc_pingpong -c -s 1048576 -r 20 -n 50",
            "ibv_rc_pingpong -c -e -s 8388608 -r 4 -n 20",
            "ibv_rc_pingpong -t",
            "ibv_rc_pingpong -N",
            "ibv_rc_pingpong -N -c -e",
            "ibv_srq_pingpong",
            "ibv_srq_pingpong -c -q 1 -s 100000",
            "ibv_srq_pingpong -e -q 16",
            "ibv_srq_pingpong -c -e -q 64 -n 100",
        ],
        says=r"bytes in .* seconds",
    ),
    *alike("verbs", ["ibv_rc_pingpong -o"], says=r"bytes in .* seconds", gap=_NO_ODP),
    *alike("verbs", ["ibv_rc_pingpong -j"], says=r"bytes in .* seconds", gap="no device memory"),
    *alike("verbs", ["ibv_uc_pingpong"], says=r"bytes in .* seconds", gap=_NO_UC),
    *alike("verbs", ["ibv_ud_pingpong"], says=r"bytes in .* seconds", gap=_NO_DATAGRAMS),
    *alike("verbs", ["ibv_xsrq_pingpong"], says=r"bytes in .* seconds", gap=_NO_XRC),
]

# rdmacm-utils: the connection manager, asynchronous and synchronous.
_RPING = {"server": "{command} -s -p {{port}}", "client": "{command} -c -p {{port}} -a {{host}}"}
_AT_ADDRESS = {"server": "{command} -p {{port}}", "client": "{command} -p {{port}} -s {{host}}"}
RDMACM_UTILS = [
    *alike("rdmacm", ["rping -v -V -S 64 -C 100"], says=r"ping data: rdma-ping-99:", ways=BOTH, **_RPING),
    *alike(
        "rdmacm",
        [
            "rping -v -V -S 4096 -C 50",
            "rping -v -V -S 65535 -C 20",  # The most that it takes.
            "rping -q -v -V -S 1000 -C 10",
        ],
        says=r"ping data: rdma-ping-9:",
        **_RPING,
    ),
    *alike("rdmacm", ["ucmatose"], says=r"return status 0", ways=BOTH, **_AT_ADDRESS),
    *alike(
        "rdmacm",
        ["ucmatose -c 50", "ucmatose -c 10 -C 100 -S 5000", "ucmatose -m", "ucmatose -c 50 -m -C 5"],
        says=r"return status 0",
        **_AT_ADDRESS,
    ),
    Case(
        "rdmacm",
        "rdma_server and rdma_client",
        server="rdma_server -p {port}",
        client="rdma_client -s {host} -p {port}",
        says=r"rdma_client: end 0",
        ways=BOTH,
    ),
    Case(
        "rdmacm",
        "rdma_xserver and rdma_xclient -c r",
        server="rdma_xserver -c r -p {port}",
        client="rdma_xclient -c r -s {host} -p {port}",
        says=r"end 0",
    ),
    *alike("rdmacm", ["cmtime -c 100"], says=r"disconnect", server_ends=False, **_AT_ADDRESS),
    *alike("rdmacm", ["udaddy"], says=r"return status 0", gap=_NO_DATAGRAMS, **_AT_ADDRESS),
    alone("rdmacm", "mckey -m 239.0.0.1 -C 1", says=r"return status 0", gap="no multicast"),
    *alike("rdmacm", ["rstream", "riostream", "udpong"], says=r"64_lat", gap=_NO_RSOCKETS, **_AT_ADDRESS),
    Case(
        "rdmacm",
        "rdma_xserver and rdma_xclient -c x",
        server="rdma_xserver -c x -p {port}",
        client="rdma_xclient -c x -s {host} -p {port}",
        says=r"end 0",
        gap=_NO_XRC,
    ),
]

# perftest. A result is a line of figures.
_FIGURES = r"^ *\d+ +\d+ +\d+\.\d+"
_UP_TO_8_MIB = r"^ *8388608 +\d+ +\d+\.\d+"
PERFTEST = [
    *alike(
        "perftest",
        ["ib_send_lat -n 200", "ib_send_bw -n 500 -R", "ib_read_bw -n 500", "ib_write_lat -n 200 -R"],
        says=_FIGURES,
        ways=BOTH,
    ),
    *alike(
        "perftest",
        [
            "ib_send_lat -n 200 -R",
            "ib_send_lat -n 200 -e",
            "ib_send_lat -n 200 -I 64 -s 64",
            "ib_send_lat -n 200 --use-srq",
            "ib_send_lat -n 200 --use_old_post_send",
            "ib_send_bw -n 500",
            "ib_send_bw -n 500 -e -R",
            "ib_send_bw -n 500 -b",
            "ib_send_bw -n 500 -b -R",
            "ib_send_bw -n 500 -q 8",
            "ib_send_bw -n 500 -q 8 --use-srq -R",
            "ib_send_bw -n 500 -I 128 -s 128",
            "ib_send_bw -n 512 -l 16",
            "ib_read_lat -n 200",
            "ib_read_lat -n 200 -R",
            "ib_read_lat -n 200 -e",
            "ib_read_bw -n 500 -R",
            "ib_read_bw -n 500 -e",
            "ib_read_bw -n 500 -b",
            "ib_read_bw -n 500 -q 8 -R",
            "ib_read_bw -n 500 -o 1",
            "ib_write_lat -n 200",
            "ib_write_lat -n 200 -I 64 -s 64",
            "ib_write_bw -n 500",
            "ib_write_bw -n 500 -R",
            "ib_write_bw -n 500 -b -R",
            "ib_write_bw -n 500 -q 8",
            "ib_write_bw -n 500 -I 128 -s 128",
            "ib_atomic_lat -n 200",
            "ib_atomic_lat -n 200 -R",
            "ib_atomic_lat -n 200 -A CMP_AND_SWAP",
            "ib_atomic_bw -n 500",
            "ib_atomic_bw -n 500 -R -A CMP_AND_SWAP",
            "ib_atomic_bw -n 500 -q 8 -b",
        ],
        says=_FIGURES,
    ),
    *alike(
        "perftest",
        [
            "ib_send_lat -a -n 5",
            "ib_send_bw -a -n 5 -R",
            "ib_read_lat -a -n 5",
            "ib_read_bw -a -n 5",
            "ib_write_lat -a -n 5 -R",
            "ib_write_bw -a -n 5",
        ],
        says=_UP_TO_8_MIB,
    ),
    *alike(
        "perftest",
        ["ib_send_lat -n 100 -c UD", "ib_send_bw -n 100 -c UD -s 1024"],
        says=_FIGURES,
        gap=_NO_DATAGRAMS,
    ),
    *alike("perftest", ["ib_send_lat -n 100 -c UC", "ib_write_bw -n 100 -c UC"], says=_FIGURES, gap=_NO_UC),
    *alike("perftest", ["ib_send_lat -n 100 -c XRC"], says=_FIGURES, gap=_NO_XRC),
    *alike("perftest", ["ib_write_bw -n 100 --odp"], says=_FIGURES, gap=_NO_ODP),
]

# qperf: a server for each case; "quit" ends it.
_QPERF = {"name": "qperf ", "server": "qperf -lp {{port}}", "client": "qperf {{host}} -lp {{port}} -t 1 {command} quit"}
QPERF = [
    *alike("qperf", ["rc_lat rc_bw"], says=r"bw += +\d", ways=BOTH, **_QPERF),
    *alike(
        "qperf",
        ["rc_bi_bw", "rc_rdma_read_bw rc_rdma_write_bw", "rc_rdma_write_poll_lat"],
        says=r"(bw|latency) += +\d",
        **_QPERF,
    ),
    *alike("qperf", ["rc_rdma_read_lat rc_rdma_write_lat"], says=r"latency += +\d", **_QPERF),
    *alike("qperf", ["rc_compare_swap_mr rc_fetch_add_mr"], says=r"msg_rate += +\d", **_QPERF),
    *alike("qperf", ["ver_rc_compare_swap ver_rc_fetch_add"], says=r"msg_rate += +\d", **_QPERF),
    *alike("qperf", ["-cm 1 rc_lat", "-cm 1 rc_rdma_write_bw"], says=r"(bw|latency) += +\d", **_QPERF),
    *alike("qperf", ["uc_lat"], says=r"latency += +\d", gap=_NO_UC, **_QPERF),
    *alike("qperf", ["ud_lat"], says=r"latency += +\d", gap=_NO_DATAGRAMS, **_QPERF),
    *alike("qperf", ["xrc_lat"], says=r"latency += +\d", gap=_NO_XRC, **_QPERF),
]

# Programs of our own on Debian's python3-pyverbs, after the ground of rdma-core's own tests, which no package has.
_PYTHON = "/usr/bin/python3 -B {{programs}}/{command}"
PYVERBS = [
    *[
        alone("pyverbs", _PYTHON.format(command=f"{name}.py"), name=name, says=f"^{name}: passed", ways=BOTH)
        for name in [
            "device",
            "memory",
            "states",
            "messages",
            "one_sided",
            "atomics",
            "completion_queues",
            "shared_receives",
            "extended",
            "windows",
        ]
    ],
    *alike(
        "pyverbs",
        ["endpoint.py"],
        server=_PYTHON + " server {{host}} {{port}}",
        client=_PYTHON + " client {{host}} {{port}}",
        says=r"^endpoint: passed",
    ),
]

CASES = [*VERBS_UTILS, *RDMACM_UTILS, *PERFTEST, *QPERF, *PYVERBS]
