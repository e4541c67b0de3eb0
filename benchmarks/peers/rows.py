"""What the comparison measures: payloads, how many calls are in flight, and other ways to call."""

import dataclasses

_PAYLOADS = (64, 1 << 10, 8 << 10, 64 << 10, 1 << 20, 64 << 20)
_IN_FLIGHT = (1, 16, 64, 256)
_BYTES_IN_FLIGHT_MAX = 256 << 20  # Each end has copies of them: memory.

# Threads of the user's beside the loops, which have one of their own.
CALLERS = "blocking callers"  # As many as calls in flight; of a stream one that writes and one that reads.
ISSUER = "issuing thread"  # One, which makes all calls; their callbacks run on the loop.
HANDLERS = "blocking handlers"  # The server's, which may block.

# From so many bytes in flight on, the first calls take long, whose memory is touched for the first time.
_BYTES_IN_FLIGHT_LONG = 16 << 20
_TIMES_AS_LONG = 4


@dataclasses.dataclass(frozen=True, order=True)
class Row:
    payload_bytes: int  # In the request, and in the reply.
    in_flight: int  # Over all connections; at a rate, at most.
    wait: str = "busy"  # How the ends of ours wait: busy, event or adaptive.
    connections: int = 1
    streaming: bool = False  # Messages of one stream, echoed, instead of calls.
    one_way: str = ""  # Of streaming: "client" or "server", who alone sends messages, as many as the window lets.
    attached: bool = False  # The payload, to the request, and in no message.
    threads: str = ""  # CALLERS, ISSUER, HANDLERS or none.
    rate: int = 0  # Calls a second, due whatever becomes of those before (an open loop). 0: one follows another.

    def __str__(self) -> str:
        in_flight = f"up to {self.in_flight:,}" if self.rate else "" if self.one_way else str(self.in_flight)
        ways = ["" if self.wait == "busy" else self.wait,
                "" if self.connections == 1 else f"{self.connections:,} connections",
                "streaming" if self.streaming else "",
                f"from the {self.one_way}" if self.one_way else "",
                "attached" if self.attached else "",
                self.threads,
                f"open loop at {self.rate:,} calls/s" if self.rate else ""]  # fmt: skip
        return ", ".join(filter(None, [size(self.payload_bytes), in_flight, *ways]))

    @property
    def is_plain(self) -> bool:
        """Calls over one connection, both ends busy."""
        return self == Row(self.payload_bytes, self.in_flight)

    def seconds(self, usual: float) -> float:
        """How long to measure it."""
        return usual * (_TIMES_AS_LONG if self.payload_bytes * self.in_flight >= _BYTES_IN_FLIGHT_LONG else 1)


_OTHER_WAYS = (
    *(Row(64, in_flight, wait) for wait in ("event", "adaptive") for in_flight in (1, 64)),
    *(Row(64, 64, connections=connections) for connections in (100, 1000)),
    *(Row(payload, 64, streaming=True) for payload in (64, 8 << 10)),
    *(Row(payload, in_flight, attached=True) for payload, in_flight in ((64 << 10, 16), (1 << 20, 16), (64 << 20, 1))),
    *(Row(64, in_flight, "adaptive", threads=CALLERS) for in_flight in (1, 16, 64)),
    *(Row(payload, in_flight, "adaptive", streaming=True, threads=CALLERS)
      for payload, in_flight in ((64, 1), (64, 64), (8 << 10, 64))),
    *(Row(payload, 1, streaming=True, one_way=sender)
      for sender in ("client", "server") for payload in (64, 8 << 10, 64 << 10)),
    *(Row(payload, 1, "adaptive", streaming=True, one_way=sender, threads=CALLERS)
      for sender in ("client", "server") for payload in (64, 8 << 10)),
    *(Row(64, in_flight, "adaptive", threads=threads) for threads in (ISSUER, HANDLERS) for in_flight in (1, 64)),
    *(Row(64, 256, wait, rate=rate) for wait in ("busy", "adaptive") for rate in (10_000, 100_000)),
)

ROWS = {
    "all": tuple(
        Row(payload, in_flight)
        for payload in _PAYLOADS
        for in_flight in _IN_FLIGHT
        if payload * in_flight <= _BYTES_IN_FLIGHT_MAX
    )
    + _OTHER_WAYS,
    "short": (Row(64, 1), Row(64, 64), Row(8 << 10, 1), Row(1 << 20, 1)),
}


def size(count: int) -> str:
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if count >= unit and count % unit == 0:
            return f"{count // unit} {name}"
    return f"{count} B"
