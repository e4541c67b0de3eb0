"""The rows that were measured, as a table and as JSON."""

import dataclasses
import json
import os
import pathlib

from figures import Figures
from rows import Row
from systems import SYSTEMS

Comparison = dict[Row, dict[str, Figures]]  # For each row, by the systems' keys.

_OURS = "verbena"


def with_counts(measured: dict[str, Figures], counts: dict[str, dict[str, float]]) -> dict[str, Figures]:
    """What was measured for a row, and what was counted of some of the systems."""
    return {key: dataclasses.replace(each, **counts.get(key, {})) for key, each in measured.items()}


def table(measured: Comparison) -> str:
    """Markdown. In parentheses: how many times better ours is."""
    lines = [
        f"| Payload, in flight | | {' | '.join(system.title for system in SYSTEMS)} |",
        f"| --- | --- |{' --- |' * len(SYSTEMS)}",
    ]
    for row, figures in measured.items():
        if not row.one_way:  # Nothing answers those messages.
            lines += _latency_lines(row, figures)
        lines += (
            _line(row, "calls/s", figures, lambda each: each.calls_per_second, lower_is_better=False),
            _line(row, "CPU s/GiB", figures, lambda each: each.cpu_seconds_per_gib, lower_is_better=True),
            *_count_lines(row, figures),
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
    """What to_json made. Raises ValueError, KeyError, TypeError or AttributeError if it did not."""
    measured = {
        Row(**{name: value for name, value in row.items() if name != "systems"}):
            {key: Figures(**each) for key, each in row["systems"].items()}
        for row in json.loads(text)
    }
    for row, figures in measured.items():
        if _OURS not in figures:
            raise ValueError(f"there is no {_OURS} in the row {row}")
    return measured


def save(measured: Comparison, path: pathlib.Path) -> None:
    """Whole or not at all: whoever interrupts this, or a full disk, leaves what was there. What is no file, such as
    /dev/stdout, is written to."""
    path = path.resolve()
    if path.exists() and not path.is_file():
        path.write_text(to_json(measured), encoding="utf-8")
        return
    unfinished = _unfinished(path)
    try:
        unfinished.write_text(to_json(measured), encoding="utf-8")
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)


def check_place(path: pathlib.Path) -> None:
    """Before hours are measured: raises OSError where save would."""
    path = path.resolve()
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder")
    if path.is_file() or not path.exists():
        _unfinished(path).touch()
        _unfinished(path).unlink()
    elif not os.access(path, os.W_OK):
        raise PermissionError(f"{path} may not be written to")


def _unfinished(path: pathlib.Path) -> pathlib.Path:
    return path.with_name(f".{path.name}.unfinished")


def load(path: pathlib.Path) -> Comparison:
    """What was saved. Raises ValueError, which names the file, if it is damaged or another's."""
    try:
        return from_json(path.read_text(encoding="utf-8"))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{path} is not what --json writes: {error}; measure without --resume") from error


def _latency_lines(row, figures) -> list[str]:
    return [
        _line(row, "p50, us", figures, lambda each: each.typical_us, lower_is_better=True),
        _line(row, "p99, us", figures, lambda each: each.p99_us, lower_is_better=True),
        _line(row, "p99.99, us", figures, lambda each: each.p9999_us, lower_is_better=True),
    ]


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


def _count_lines(row, figures) -> list[str]:
    """Of what was counted."""
    lines = []
    ours = figures[_OURS]
    if ours.instructions is not None:
        counts = f"{ours.instructions:,.0f}; {ours.allocations:.2f}; {ours.doorbells:.2f}"
        lines.append(f"| {row} | instructions; allocations; doorbells | {counts} |{' |' * (len(SYSTEMS) - 1)}")
    if ours.system_calls is not None:
        counts = (figures[system.key].system_calls if system.key in figures else None for system in SYSTEMS)
        cells = ("" if count is None else f"{count:.2f}" for count in counts)
        lines.append(f"| {row} | system calls | {' | '.join(cells)} |")
    return lines


def _number(value: float) -> str:
    """Three digits that count, or all before the point."""
    digits = 2 if value < 10 else 1 if value < 100 else 0
    return f"{value:,.{digits}f}"
