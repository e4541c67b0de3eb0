"""Our calls beside gRPC's, from what rpc_bench and grpc_bench print."""

import dataclasses
import statistics


@dataclasses.dataclass(frozen=True)
class Case:
    payload_bytes: int
    in_flight: int

    def __str__(self) -> str:
        return f"{_size(self.payload_bytes)}, {self.in_flight} in flight"


CASES = (
    Case(64, 1),
    Case(1024, 1),
    Case(8192, 1),
    Case(65536, 1),
    Case(1 << 20, 1),
    Case(64, 16),
    Case(64, 64),
    Case(64, 256),
    Case(1 << 20, 8),
)


@dataclasses.dataclass(frozen=True)
class Figures:
    p50_us: float
    calls_per_second: float


def median(reports: list[dict]) -> Figures:
    """Of what one program printed in its rounds."""
    return Figures(statistics.median(report["p50_us"] for report in reports),
                   statistics.median(report["calls_per_second"] for report in reports))


def better(one: Figures, other: Figures) -> Figures:
    """The lower latency and the higher rate, each for itself: what a user who tries both ways has."""
    return Figures(min(one.p50_us, other.p50_us), max(one.calls_per_second, other.calls_per_second))


def table(rows: list[tuple[Case, Figures, Figures]]) -> str:
    """Of (case, ours, gRPC's)."""
    lines = ["| Payload each way | Verbena p50 | gRPC p50 | Ratio | Verbena calls/s | gRPC calls/s | Ratio |",
             "| --- | --- | --- | --- | --- | --- | --- |"]
    for case, ours, theirs in rows:
        lines.append(f"| {case} | {ours.p50_us:.1f} us | {theirs.p50_us:.0f} us | {theirs.p50_us / ours.p50_us:.0f} | "
                     f"{ours.calls_per_second:,.0f} | {theirs.calls_per_second:,.0f} | "
                     f"{ours.calls_per_second / theirs.calls_per_second:.1f} |")
    return "\n".join(lines) + "\n"


def _size(size: int) -> str:
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit and size % unit == 0:
            return f"{size // unit} {name}"
    return f"{size} B"
