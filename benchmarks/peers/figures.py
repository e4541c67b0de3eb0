"""What the programs print, as figures."""

import dataclasses
import json
import statistics


@dataclasses.dataclass(frozen=True)
class Figures:
    """Of calls, or of messages there and back. None: the program does not say."""

    p50_us: float | None
    p99_us: float | None
    mean_us: float | None
    calls_per_second: float
    p9999_us: float | None = None
    cpu_seconds_per_gib: float | None = None  # Of both ends, for the request's bytes.
    # Of a call, both ends together: counted apart from the rounds (per_call.py).
    instructions: float | None = None
    allocations: float | None = None
    doorbells: float | None = None
    system_calls: float | None = None

    @property
    def typical_us(self) -> float | None:
        return self.mean_us if self.p50_us is None else self.p50_us


def of_json(output: str) -> Figures:
    """Of the last line of rpc_bench, or of a program of RunPeerBench."""
    report = json.loads(output.splitlines()[-1])
    return Figures(report["p50_us"], report["p99_us"], None, report["calls_per_second"], report["p9999_us"],
                   report["cpu_seconds_per_gib"])


def of_one_way_json(output: str) -> Figures:
    """Of such a line about messages that nothing answers: they have no latency."""
    report = json.loads(output.splitlines()[-1])
    return Figures(None, None, None, report["calls_per_second"], cpu_seconds_per_gib=report["cpu_seconds_per_gib"])


def of_raw_reads_json(output: str) -> Figures:
    """What rpc_bench says of raw READs of the payload's bytes, some in flight: a bandwidth."""
    report = json.loads(output.splitlines()[-1])
    return Figures(None, None, None, report["raw_read_gbytes_per_second"] * 1e9 / report["payload_bytes"])


def of_ucx(median: str, tail: str) -> Figures:
    """Of two runs of ucx_perftest's ucp_am_lat, with `-R 50` and `-R 99`. Raises ValueError if there are no figures."""
    p50_us, mean_us = _ucx_there_and_back_us(median)
    p99_us, _ = _ucx_there_and_back_us(tail)
    return Figures(p50_us, p99_us, mean_us, 1e6 / mean_us)


def of_fi_pingpong(output: str) -> Figures:
    """It prints the mean of one way. Raises ValueError if there are no figures."""
    lines = [line.split() for line in output.splitlines()]
    for names, values in zip(lines, lines[1:]):
        if "usec/xfer" in names and len(values) == len(names):
            mean_us = 2 * float(values[names.index("usec/xfer")])
            return Figures(None, None, mean_us, 1e6 / mean_us)
    raise ValueError(f"no figures in what fi_pingpong said:\n{output}")


def median(rounds: list[Figures]) -> Figures:
    def of(values):
        said = [value for value in values if value is not None]
        return statistics.median(said) if said else None

    return Figures(*(of(values) for values in zip(*map(dataclasses.astuple, rounds))))


def best(ways: list[Figures]) -> Figures:
    """Of one system measured in several ways: the lowest of all and the highest rate, each for itself."""
    def lowest(values):
        return min((value for value in values if value is not None), default=None)

    p50s, p99s, means, rates, p9999s, cpus, *_ = zip(*map(dataclasses.astuple, ways))
    return Figures(lowest(p50s), lowest(p99s), lowest(means), max(rates), lowest(p9999s), lowest(cpus))


def _ucx_there_and_back_us(output: str) -> tuple[float, float]:
    """The percentile and the mean of the whole run; it prints one way."""
    for line in output.splitlines():
        if line.startswith("Final:"):
            percentile, _, overall = map(float, line.split()[2:5])
            return 2 * percentile, 2 * overall
    raise ValueError(f"no figures in what ucx_perftest said:\n{output}")
