"""What the comparison measures: payloads, and how many calls are in flight."""

import dataclasses

_PAYLOADS = (64, 1 << 10, 8 << 10, 64 << 10, 1 << 20, 64 << 20)
_IN_FLIGHT = (1, 16, 64, 256)
_BYTES_IN_FLIGHT_MAX = 256 << 20  # Each end has copies of them: memory.

# From so many bytes in flight on, the first calls take long, whose memory is touched for the first time.
_BYTES_IN_FLIGHT_LONG = 16 << 20
_TIMES_AS_LONG = 4


@dataclasses.dataclass(frozen=True, order=True)
class Row:
    payload_bytes: int  # In the request, and in the reply.
    in_flight: int

    def __str__(self) -> str:
        return f"{size(self.payload_bytes)}, {self.in_flight}"

    def seconds(self, usual: float) -> float:
        """How long to measure it."""
        return usual * (_TIMES_AS_LONG if self.payload_bytes * self.in_flight >= _BYTES_IN_FLIGHT_LONG else 1)


ROWS = {
    "all": tuple(
        Row(payload, in_flight)
        for payload in _PAYLOADS
        for in_flight in _IN_FLIGHT
        if payload * in_flight <= _BYTES_IN_FLIGHT_MAX
    ),
    "short": (Row(64, 1), Row(64, 64), Row(8 << 10, 1), Row(1 << 20, 1)),
}


def size(count: int) -> str:
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if count >= unit and count % unit == 0:
            return f"{count // unit} {name}"
    return f"{count} B"
