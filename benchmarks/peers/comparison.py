"""Our calls beside raw verbs, UCX and gRPC, from what rpc_bench, ucx_perftest and grpc_bench print."""

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


@dataclasses.dataclass(frozen=True)
class Row:
    case: Case
    ours: Figures
    grpc: Figures
    # A message there and back, by SEND on the same device and by UCX's active messages. Only for one in flight.
    raw_us: float | None = None
    ucx_us: float | None = None


def median(reports: list[dict]) -> Figures:
    """Of what one program printed in its rounds."""
    return Figures(statistics.median(report["p50_us"] for report in reports),
                   statistics.median(report["calls_per_second"] for report in reports))


def better(one: Figures, other: Figures) -> Figures:
    """The lower latency and the higher rate, each for itself: what a user who tries both ways has."""
    return Figures(min(one.p50_us, other.p50_us), max(one.calls_per_second, other.calls_per_second))


def ucx_there_and_back_us(output: str) -> float:
    """Of ucx_perftest's ucp_am_lat, which prints one way. Raises ValueError if there are no figures."""
    for line in output.splitlines():
        if line.startswith("Final:"):
            return 2 * float(line.split()[2])
    raise ValueError(f"no figures in what ucx_perftest said:\n{output}")


def table(rows: list[Row]) -> str:
    lines = ["| Payload each way | Verbena p50 | of raw SEND | of UCX | gRPC p50 | Ratio | Verbena calls/s | gRPC calls/s | "
             "Ratio |",
             "| --- | --- | --- | --- | --- | --- | --- | --- | --- |"]
    for row in rows:
        ours, grpc = row.ours, row.grpc
        lines.append(f"| {row.case} | {ours.p50_us:.1f} us | {_times(ours.p50_us, row.raw_us)} | "
                     f"{_times(ours.p50_us, row.ucx_us)} | {grpc.p50_us:.0f} us | {grpc.p50_us / ours.p50_us:.0f} | "
                     f"{ours.calls_per_second:,.0f} | {grpc.calls_per_second:,.0f} | "
                     f"{ours.calls_per_second / grpc.calls_per_second:.1f} |")
    return "\n".join(lines) + "\n"


def _times(ours: float, theirs: float | None) -> str:
    return "" if theirs is None else f"{ours / theirs:.1f} x"


def _size(size: int) -> str:
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit and size % unit == 0:
            return f"{size // unit} {name}"
    return f"{size} B"
