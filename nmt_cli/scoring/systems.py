"""Systems side by side: the scores of each, how sure they are, and whether a system differs from the first."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from nmt_cli.scoring.bleu import default_tokeniser
from nmt_cli.scoring.line_statistics import LineStatistics, line_statistics
from nmt_cli.scoring.result import MetricResult
from nmt_cli.scoring.scores import Scores, score_translations
from nmt_cli.scoring.significance import N_SAMPLES, SEED, Comparison, Interval, Method, compared, interval


@dataclass(frozen=True)
class Sampling:
    """How chance is judged."""

    method: Method
    n_samples: int
    seed: int = SEED

    @property
    def interval_samples(self) -> int:
        """Samples behind an interval, which is always by bootstrap."""
        return self.n_samples if self.method == "bootstrap" else N_SAMPLES["bootstrap"]

    @property
    def signature(self) -> str:
        """What follows a signature, in the manner of sacreBLEU."""
        exchanged = f"ar:{self.n_samples}|" if self.method == "randomisation" else ""
        return f"{exchanged}bs:{self.interval_samples}|seed:{self.seed}"


@dataclass(frozen=True)
class System:
    """The scores of a system, by the key of each: their intervals, and what sets it apart from the first."""

    name: str
    scores: Scores
    intervals: Mapping[str, Interval] = dataclasses.field(default_factory=dict)
    comparisons: Mapping[str, Comparison] = dataclasses.field(default_factory=dict)

    def lines(self) -> list[str]:
        """Return a line for each result, with interval and p where chance was judged."""
        return [
            line + self._sureness(result) for line, result in zip(self.scores.lines(), self.scores.results, strict=True)
        ]

    def _sureness(self, result: MetricResult) -> str:
        told = ""
        if found := self.intervals.get(result.key):
            told += f"  95 %: {found.low:.2f} to {found.high:.2f}"
        if comparison := self.comparisons.get(result.key):
            told += f"; {comparison.difference:+.2f}, p = {comparison.p:.4f}"
        return told

    def as_json(self) -> dict[str, dict[str, object]]:
        """Return the results by key, each with what is known of its sureness."""
        found = {result.key: result.as_json() for result in self.scores.results}
        for key, one in self.intervals.items():
            found[key]["interval_95"] = dataclasses.asdict(one)
        for key, comparison in self.comparisons.items():
            found[key]["against_first"] = dataclasses.asdict(comparison)
        return found


def score_systems(
    systems: Sequence[tuple[str, Sequence[str]]],
    *references: Sequence[str],
    target_language: str,
    tokeniser: str | None = None,
    lowercase: bool = False,
    sampling: Sampling | None = None,
) -> list[System]:
    """Return the scores of each system; with `sampling`, intervals, and each against the first.

    Raises:
        DataError: no lines, or not as many in each.
        UsageError: a tokeniser that is unknown or not installed.
    """
    found: list[System] = []
    first: dict[str, LineStatistics] = {}
    for name, hypotheses in systems:
        scores = score_translations(
            hypotheses, *references, target_language=target_language, tokeniser=tokeniser, lowercase=lowercase
        )
        if sampling is None:
            found.append(System(name, scores))
            continue
        statistics = {
            result.key: line_statistics(
                result,
                hypotheses,
                *references,
                target_language=target_language,
                tokeniser=tokeniser or default_tokeniser(target_language),
                lowercase=lowercase,
            )
            for result in scores.results
        }
        found.append(_judged(name, scores, statistics, first, sampling))
        first = first or statistics
    return found


def _judged(
    name: str,
    scores: Scores,
    statistics: Mapping[str, LineStatistics],
    first: Mapping[str, LineStatistics],
    sampling: Sampling,
) -> System:
    signed = tuple(
        dataclasses.replace(result, signature=f"{result.signature}|{sampling.signature}") for result in scores.results
    )
    return System(
        name,
        dataclasses.replace(scores, results=signed),
        {
            key: interval(one, n_samples=sampling.interval_samples, seed=sampling.seed)
            for key, one in statistics.items()
        },
        {
            key: compared(first[key], one, sampling.method, n_samples=sampling.n_samples, seed=sampling.seed)
            for key, one in statistics.items()
            if first
        },
    )
