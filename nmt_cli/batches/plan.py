"""The plan of updates: which pairs make up which update; a pure function of corpus, seed and token budget."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

Indices = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True)
class Cursor:
    """Where training stands: updates done in all, the epoch (from 0) and updates done in it."""

    step: int = 0
    epoch: int = 0
    update_in_epoch: int = 0


@dataclass(frozen=True)
class EpochPlan:
    """One pass over the corpus."""

    updates: list[Indices]
    """The pairs of each update, sorted by target, then source length."""
    n_too_long: int
    """Pairs left out because a side has more tokens than `max_length`."""


def plan_epoch(
    source_lengths: Indices,
    target_lengths: Indices,
    *,
    tokens_per_update: int,
    max_length: int,
    seed: int,
    epoch: int,
) -> EpochPlan:
    """Return the updates of an epoch in their order (paper, section 5.1).

    Pairs of similar length come together until either side holds `tokens_per_update` tokens (a longer
    pair is an update by itself); which of the pairs of equal length, and the order of the updates, is
    drawn anew each epoch. Every pair up to `max_length` is used once.
    """
    # Raw draws of PCG64 are the same in every numpy; what Generator makes of them may change.
    draws = np.random.PCG64([seed, epoch])
    fits = np.flatnonzero((source_lengths <= max_length) & (target_lengths <= max_length))
    keys = draws.random_raw(len(fits))
    order = fits[np.lexsort((keys, source_lengths[fits], target_lengths[fits]))]
    source_sums = np.cumsum(source_lengths[order])
    target_sums = np.cumsum(target_lengths[order])
    updates: list[Indices] = []
    first, source_before, target_before = 0, 0, 0
    while first < len(order):
        last = min(
            int(np.searchsorted(source_sums, source_before + tokens_per_update, side="right")),
            int(np.searchsorted(target_sums, target_before + tokens_per_update, side="right")),
        )
        last = max(last, first + 1)
        updates.append(order[first:last])
        first, source_before, target_before = last, int(source_sums[last - 1]), int(target_sums[last - 1])
    shuffled = np.argsort(draws.random_raw(len(updates)), kind="stable")
    return EpochPlan([updates[place] for place in shuffled], len(source_lengths) - len(fits))


def cut_update(
    pairs: Indices, source_lengths: Indices, target_lengths: Indices, *, micro_batch_tokens: int
) -> list[Indices]:
    """Cut an update into micro-batches of at most so many padded positions a side (one pair at least)."""
    parts: list[Indices] = []
    first, longest = 0, 0
    for place, pair in enumerate(pairs):
        longest_with = max(longest, int(source_lengths[pair]), int(target_lengths[pair]))
        if place > first and longest_with * (place + 1 - first) > micro_batch_tokens:
            parts.append(pairs[first:place])
            first, longest_with = place, max(int(source_lengths[pair]), int(target_lengths[pair]))
        longest = longest_with
    if first < len(pairs):
        parts.append(pairs[first:])
    return parts
