"""The charts of a comparison: what is plotted, and the plotting."""

import dataclasses
import pathlib

from comparison import Comparison
from systems import SYSTEMS

_RATE_PAYLOAD_BYTES = 64


@dataclasses.dataclass(frozen=True)
class Chart:
    """Both axes are logarithmic."""

    name: str  # Of the file, without its ending.
    title: str
    x_label: str
    y_label: str
    lines: dict[str, list[tuple[float, float]]]  # By the systems' titles.


def latency_by_payload(measured: Comparison) -> Chart:
    return Chart(
        "latency", "One call in flight", "payload each way, bytes", "p50 (libfabric: mean), microseconds",
        _lines(measured, lambda row: row.payload_bytes if row.is_plain and row.in_flight == 1 else None, lambda each: each.typical_us),
    )  # fmt: skip


def rate_by_in_flight(measured: Comparison) -> Chart:
    return Chart(
        "calls_per_second", f"Payload of {_RATE_PAYLOAD_BYTES} bytes", "calls in flight", "calls a second",
        _lines(measured, lambda row: row.in_flight if row.is_plain and row.payload_bytes == _RATE_PAYLOAD_BYTES else None,
               lambda each: each.calls_per_second),
    )  # fmt: skip


def _lines(measured, x_of_row, y_of_figures) -> dict[str, list[tuple[float, float]]]:
    """Of the rows that have an x, from left to right; no line for a system without a point."""
    lines = {}
    for system in SYSTEMS:
        points = sorted(
            (x_of_row(row), y_of_figures(figures[system.key]))
            for row, figures in measured.items()
            if x_of_row(row) is not None and system.key in figures
        )
        if points:
            lines[system.title] = points
    return lines


def draw(measured: Comparison, folder: pathlib.Path) -> list[pathlib.Path]:
    """The charts' files, SVG."""
    import matplotlib  # Here, so that what is plotted can be tested where it is not installed.

    matplotlib.use("svg")
    import matplotlib.pyplot as plot

    paths = []
    for chart in (latency_by_payload(measured), rate_by_in_flight(measured)):
        figure, axes = plot.subplots(figsize=(9, 6))
        for title, points in chart.lines.items():
            axes.loglog(*zip(*points), marker="o", label=title)
        axes.set(title=chart.title, xlabel=chart.x_label, ylabel=chart.y_label)
        axes.grid(True, which="major", alpha=0.3)
        axes.legend(loc="upper left", bbox_to_anchor=(1, 1))  # Beside the lines, not on them.
        paths.append(folder / f"{chart.name}.svg")
        figure.savefig(paths[-1], bbox_inches="tight")
        plot.close(figure)
    return paths
