"""The rows that were measured, as a table and as JSON."""

import dataclasses
import json

from figures import Figures
from rows import Row
from systems import SYSTEMS

Comparison = dict[Row, dict[str, Figures]]  # For each row, by the systems' keys.

_OURS = "verbena"


def table(measured: Comparison) -> str:
    """Markdown. In parentheses: how many times better ours is."""
    lines = [
        f"| Payload, in flight | | {' | '.join(system.title for system in SYSTEMS)} |",
        f"| --- | --- |{' --- |' * len(SYSTEMS)}",
    ]
    for row, figures in measured.items():
        lines += (
            _line(row, "p50, us", figures, lambda each: each.typical_us, lower_is_better=True),
            _line(row, "p99, us", figures, lambda each: each.p99_us, lower_is_better=True),
            _line(row, "p99.99, us", figures, lambda each: each.p9999_us, lower_is_better=True),
            _line(row, "calls/s", figures, lambda each: each.calls_per_second, lower_is_better=False),
            _line(row, "CPU s/GiB", figures, lambda each: each.cpu_seconds_per_gib, lower_is_better=True),
        )
    return "\n".join(lines) + "\n"


def to_json(measured: Comparison) -> str:
    return json.dumps(
        [
            dataclasses.asdict(row) | {"systems": {key: dataclasses.asdict(each) for key, each in figures.items()}}
            for row, figures in measured.items()
        ],
        indent=2,
    )


def from_json(text: str) -> Comparison:
    """What to_json made. Raises ValueError, KeyError or TypeError if it did not."""
    return {
        Row(**{name: value for name, value in row.items() if name != "systems"}):
            {key: Figures(**each) for key, each in row["systems"].items()}
        for row in json.loads(text)
    }


def _line(row, name, figures, figure, lower_is_better) -> str:
    ours = figure(figures[_OURS])
    cells = []
    for system in SYSTEMS:
        value = figure(figures[system.key]) if system.key in figures else None
        if value is None:
            cells.append("")
        elif system.key == _OURS:
            cells.append(_number(value))
        else:
            times = value / ours if lower_is_better else ours / value
            cells.append(f"{_number(value)} ({_number(times)})")
    return f"| {row} | {name} | {' | '.join(cells)} |"


def _number(value: float) -> str:
    """Three digits that count, or all before the point."""
    digits = 2 if value < 10 else 1 if value < 100 else 0
    return f"{value:,.{digits}f}"
