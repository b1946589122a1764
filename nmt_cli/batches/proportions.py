"""How often each corpus is repeated in an epoch, so that their pairs stand in given proportions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

Indices = np.ndarray[Any, np.dtype[np.int64]]


def numbers_in_proportion(sizes: Sequence[int], weights: Sequence[float]) -> list[int]:
    """Return how many pairs of each corpus make an epoch: all of the one repeated least, of others as many as fit.

    Numbers are rounded to the nearest; a corpus without pairs has none.
    """
    pairs_a_weight = max(size / weight for size, weight in zip(sizes, weights, strict=True))
    wanted = [int(pairs_a_weight * weight + 0.5) if size else 0 for size, weight in zip(sizes, weights, strict=True)]
    return [max(number, size) for number, size in zip(wanted, sizes, strict=True)]


def in_proportion(pairs: Indices, sizes: Sequence[int], weights: Sequence[float], *, seed: int, epoch: int) -> Indices:
    """Return pairs of joined corpora repeated by their weights.

    `pairs` are ascending, `sizes` the pairs of each corpus in all. Of each corpus there are whole copies,
    and a remainder drawn anew each epoch, without replacement.
    """
    ends = np.searchsorted(pairs, np.cumsum(sizes))
    parts = np.split(pairs, ends[:-1])
    chosen = []
    for place, (part, number) in enumerate(
        zip(parts, numbers_in_proportion([len(part) for part in parts], weights), strict=True)
    ):
        copies, remainder = divmod(number, len(part)) if len(part) else (0, 0)
        keys = np.random.PCG64([seed, epoch, 1 + place]).random_raw(len(part))
        drawn = np.sort(np.argsort(keys, kind="stable")[:remainder])
        chosen += [part] * copies + [part[drawn]]
    return np.concatenate(chosen)
