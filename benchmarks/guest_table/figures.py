"""What perftest and rpc_bench print, as figures, and the table of them."""

import dataclasses
import json
import pathlib
import statistics
from collections.abc import Iterable


@dataclasses.dataclass(frozen=True)
class Case:
    guest: str  # uml or qemu.
    device: str
    wait: str  # event or busy; of both programs.

    @property
    def network(self) -> str:
        return {"rxe": "one_rxe", "siw": "siw"}[self.device]

    def __str__(self) -> str:
        return f"{self.device} in {self.guest}, {self.wait}"


# User Mode Linux has one processor: who polls there waits for the other's time slice.
CASES = (
    Case("uml", "rxe", "event"),
    Case("uml", "siw", "event"),
    Case("qemu", "rxe", "event"),
    Case("qemu", "siw", "event"),
    Case("qemu", "rxe", "busy"),
    Case("qemu", "siw", "busy"),
)


@dataclasses.dataclass(frozen=True)
class Medians:
    send_us: float  # ib_send_lat there and back: twice what it prints as typical.
    call_us: float
    read_mbytes_per_second: float  # 10^6.
    attachment_mbytes_per_second: float


def columns(output: str) -> dict[str, str]:
    """Of the one line of figures that a perftest program prints, by the heading before it."""
    names: list[str] = []
    for line in output.splitlines():
        words = line.split()
        if words[:1] == ["#bytes"]:
            # Some names have two words: "BW peak[MB/sec]", "99% percentile[usec]".
            names = [word for word in words if word not in ("BW", "99%", "99.9%")]
        elif names and words[:1] and words[0].isdigit():  # Between them it may complain of the clock.
            return dict(zip(names, words))
    raise ValueError(f"no figures in what perftest said:\n{output}")


def send_lat_us(output: str) -> float:
    return float(columns(output)["t_typical[usec]"])


def read_bw_mbytes_per_second(output: str) -> float:
    """perftest's megabyte has 2^20 bytes."""
    return float(columns(output)["average[MB/sec]"]) * 2**20 / 1e6


def read_medians(folder: pathlib.Path, rounds: int) -> Medians:
    def median(kind, figure) -> float:
        texts = ((folder / f"{kind}.{number}").read_text(encoding="utf-8") for number in range(1, rounds + 1))
        return statistics.median(figure(text) for text in texts)

    return Medians(
        send_us=2 * median("send_lat", send_lat_us),
        call_us=median("call", lambda text: json.loads(text)["p50_us"]),
        read_mbytes_per_second=median("read_bw", read_bw_mbytes_per_second),
        attachment_mbytes_per_second=median("attachment", lambda text: json.loads(text)["gbytes_per_second"] * 1000),
    )


def table(measured: Iterable[tuple[Case, Medians]]) -> str:
    """Markdown."""
    lines = [
        "| Device, guest, waiting | `ib_send_lat` 64 B, there and back | Call of 64 B, p50 | Ratio "
        "| `ib_read_bw` 1 MiB | Attachment of 1 MiB | Ratio |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for case, medians in measured:
        latency = medians.call_us / medians.send_us
        bandwidth = medians.attachment_mbytes_per_second / medians.read_mbytes_per_second
        lines.append(
            f"| {case} | {medians.send_us:.0f} µs | {medians.call_us:.0f} µs | {latency:.2f} "
            f"| {medians.read_mbytes_per_second:.0f} MB/s | {medians.attachment_mbytes_per_second:.0f} MB/s "
            f"| {bandwidth:.2f} |"
        )
    return "\n".join(lines) + "\n"
