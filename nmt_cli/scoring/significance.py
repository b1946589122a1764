"""Are two systems different, and how sure is a score: paired bootstrap and approximate randomisation.

Koehn (2004) and Riezler and Maxwell (2005), with the random numbers and the counting of sacreBLEU (Post, 2018),
so that both give the same p where no sample ties with the systems themselves. A tie counts as at least as far
apart, which sacreBLEU leaves out: for a system against itself p is 1 here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from nmt_cli.scoring.line_statistics import Array, LineStatistics

Method = Literal["bootstrap", "randomisation"]
N_SAMPLES: dict[Method, int] = {"bootstrap": 1_000, "randomisation": 10_000}
SEED = 12_345
"""That of sacreBLEU."""
ROUNDING = 1e-9
SAMPLES_AT_A_TIME = 64
"""A multiple of 32, so that bits come from the generator as if all were drawn at once."""


@dataclass(frozen=True)
class Interval:
    """Where 95 of 100 resampled test sets of the same size put the score."""

    low: float
    high: float
    mean: float


@dataclass(frozen=True)
class Comparison:
    """A system against the first one."""

    difference: float
    """Its score less that of the first."""
    p: float
    """How often chance alone would put them so far apart."""


def interval(system: LineStatistics, *, n_samples: int = N_SAMPLES["bootstrap"], seed: int = SEED) -> Interval:
    """Return the 95 % interval of a score by bootstrap."""
    return interval_of(np.sort(resampled(system, n_samples=n_samples, seed=seed)))


def interval_of(scores: Array) -> Interval:
    """Return the interval that leaves a fortieth of the sorted scores out at each end."""
    left_out = len(scores) // 40
    return Interval(float(scores[left_out]), float(scores[-1 - left_out]), float(scores.mean()))


def compared(
    first: LineStatistics,
    system: LineStatistics,
    method: Method,
    *,
    n_samples: int | None = None,
    seed: int = SEED,
) -> Comparison:
    """Return the difference of two systems on the same lines, and its p, two-sided."""
    difference = system.score - first.score
    n_samples = n_samples or N_SAMPLES[method]
    if method == "bootstrap":
        ours, theirs = (resampled(one, n_samples=n_samples, seed=seed) for one in (system, first))
        apart = np.abs(ours - theirs)
        apart -= apart.mean()
    else:
        apart = shuffled_differences(first, system, n_samples=n_samples, seed=seed)
    at_least = int((apart >= abs(difference) - ROUNDING).sum())
    return Comparison(difference, (at_least + 1) / (n_samples + 1))


def resampled(system: LineStatistics, *, n_samples: int, seed: int) -> Array:
    """Return the scores of samples of as many lines, drawn with replacement."""
    rng, n_lines = np.random.default_rng(seed), len(system.rows)
    found = []
    for n in portions(n_samples):
        drawn = rng.choice(n_lines, size=(n, n_lines), replace=True)
        counts = np.stack([np.bincount(places, minlength=n_lines) for places in drawn]).astype(np.float64)
        found.append(system.scores_of(counts @ system.rows))
    return np.concatenate(found)


def shuffled_differences(first: LineStatistics, system: LineStatistics, *, n_samples: int, seed: int) -> Array:
    """Return how far apart two systems are when each line is exchanged between them by a coin."""
    rng, n_lines = np.random.default_rng(seed), len(first.rows)
    total = first.rows.sum(axis=0) + system.rows.sum(axis=0)
    found = []
    for n in portions(n_samples):
        kept = rng.integers(2, size=(n, n_lines), dtype=bool)
        one = kept @ first.rows + ~kept @ system.rows
        found.append(np.abs(first.scores_of(one) - first.scores_of(total - one)))
    return np.concatenate(found)


def portions(n_samples: int) -> Iterator[int]:
    """Yield how many samples are made at a time."""
    for begin in range(0, n_samples, SAMPLES_AT_A_TIME):
        yield min(SAMPLES_AT_A_TIME, n_samples - begin)
