"""How an update is cut into micro-batches, as many for each rank and about equally long to work on."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from nmt_cli.batches.plan import Indices

Costs = np.ndarray[Any, np.dtype[np.float64]]
SOURCE_COST, TARGET_COST = 1.0, 2.0
"""Of a position, padded ones as well: a target position passes cross-attention and the output matrix besides."""
EXACTNESS = 0.005
"""Of the smallest cost that is looked for; no rank can gain more by another cut."""


def cut_update(
    pairs: Indices,
    source_lengths: Indices,
    target_lengths: Indices,
    *,
    micro_batch_tokens: int,
    n_ranks: int = 1,
) -> list[Indices]:
    """Cut an update into micro-batches of neighbours, such that the most costly costs as little as it can.

    A micro-batch has at most `micro_batch_tokens` padded positions a side (one pair at least). There are as
    many for each rank, unless there are fewer pairs than that.
    """
    sources, targets = source_lengths[pairs], target_lengths[pairs]
    ends = _ends(sources, targets, np.inf, micro_batch_tokens)
    n_parts = math.ceil(len(ends) / n_ranks) * n_ranks
    most = _cost(sources, targets)
    least = most / n_parts / 2
    while most - least > EXACTNESS * most:
        middle = (least + most) / 2
        found = _ends(sources, targets, middle, micro_batch_tokens)
        if len(found) <= n_parts:
            most, ends = middle, found
        else:
            least = middle
    return np.split(pairs, _as_many(ends, n_parts)[:-1])


def _cost(sources: Indices, targets: Indices) -> float:
    return float(len(sources) * (SOURCE_COST * sources.max() + TARGET_COST * targets.max()))


def _ends(sources: Indices, targets: Indices, cost: float, positions: int) -> list[int]:
    """Return where parts end that cost at most so much, each as long as it can be; one pair is always a part."""
    ends: list[int] = []
    first = 0
    while first < len(sources):
        longest_source = np.maximum.accumulate(sources[first:])
        longest_target = np.maximum.accumulate(targets[first:])
        sizes = np.arange(1, len(longest_source) + 1)
        costs: Costs = sizes * (SOURCE_COST * longest_source + TARGET_COST * longest_target)
        fits = (costs <= cost) & (sizes * np.maximum(longest_source, longest_target) <= positions)
        first += max(int(np.count_nonzero(fits)), 1)
        ends.append(first)
    return ends


def _as_many(ends: list[int], n_parts: int) -> list[int]:
    """Return ends of as many parts as there should be and can be: the largest are halved until they are."""
    ends = list(ends)
    while len(ends) < min(n_parts, ends[-1]):
        sizes = np.diff(ends, prepend=0)
        largest = int(sizes.argmax())
        ends.insert(largest, ends[largest] - int(sizes[largest]) // 2)
    return ends
