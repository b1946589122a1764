"""What the bench makes of its measurements: medians with their spread, ratios, slopes, tables."""

from __future__ import annotations

import itertools
import json
import statistics
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple


class Spread(NamedTuple):
    """Some measurements of one thing."""

    median: float
    least: float
    most: float

    def __format__(self, spec: str) -> str:
        """Show the median, and the range behind it."""
        return f"{self.median:{spec}} ({self.least:{spec}} .. {self.most:{spec}})"


def spread(values: Iterable[float]) -> Spread:
    """Return the median of some numbers, one at least, and their range."""
    numbers = list(values)
    return Spread(statistics.median(numbers), min(numbers), max(numbers))


def ratios(ours: Sequence[float], theirs: Sequence[float]) -> Spread:
    """Return ours over theirs, round by round; a round that only one of them has is left out."""
    return spread(a / b for a, b in zip(ours, theirs, strict=False))


def slope(points: Sequence[tuple[float, float]]) -> float:
    """Return the slope of the straight line nearest to some points (least squares)."""
    return statistics.linear_regression([x for x, _ in points], [y for _, y in points]).slope


def rate_between(records: Sequence[dict[str, float]], fields: Sequence[str]) -> float:
    """Return the mean rate over the records after the first, each a rate since the record before it.

    A record's rate (the sum of `fields`, a second) counts by the time that it stands for.
    """
    amount = 0.0
    for before, record in itertools.pairwise(records):
        amount += sum(record[field] for field in fields) * (record["seconds"] - before["seconds"])
    return amount / (records[-1]["seconds"] - records[0]["seconds"])


def difference_in_noise(first: Sequence[float], second: Sequence[float]) -> tuple[float, float]:
    """Return the difference of two means, second less first, and its standard error by the spread within each."""
    error = statistics.variance(first) / len(first) + statistics.variance(second) / len(second)
    return statistics.mean(second) - statistics.mean(first), error**0.5


def table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a Markdown table; all columns but the first are set to the right."""
    lines = [heads, ["---", *["---:"] * (len(heads) - 1)], *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def write_result(path: Path, value: object) -> None:
    """Write a result as JSON, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_name(f"{path.name}.part")
    scratch.write_text(json.dumps(value, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    scratch.replace(path)
