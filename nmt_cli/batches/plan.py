"""The plan of updates: which pairs make up which update; a pure function of corpus, seed and token budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nmt_cli.batches.corpus import EncodedCorpus
from nmt_cli.batches.proportions import in_proportion
from nmt_cli.config import TrainingConfig

Indices = np.ndarray[Any, np.dtype[np.int64]]
Keys = np.ndarray[Any, np.dtype[np.unsignedinteger[Any]]]
MICRO_BATCH_TOKENS = 2560
"""Padded positions a side that go through the model at a time, where the settings and the device name no limit.

More is not faster on a CPU and takes memory; half of an update of 4,096 tokens still fits with its padding.
"""


@dataclass(frozen=True)
class Cursor:
    """Where training stands: updates done in all, the epoch (from 0) and updates done in it."""

    step: int = 0
    epoch: int = 0
    update_in_epoch: int = 0


@dataclass(frozen=True)
class EpochPlan:
    """One pass over the corpus, or over that of several that is repeated least."""

    updates: list[Indices]
    """The pairs of each update, in an order in which neighbours are alike; see `by_length`."""
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
    sizes: Sequence[int] = (),
    weights: Sequence[float] = (),
) -> EpochPlan:
    """Return the updates of an epoch in their order (paper, section 5.1).

    Pairs of similar length come together until either side holds `tokens_per_update` tokens (a longer
    pair is an update by itself); which of the pairs of equal length, and the order of the updates, is
    drawn anew each epoch. Every pair up to `max_length` is used once; or, where `weights` say how many
    pairs of each of several corpora, of so many pairs each (`sizes`), are to come among all, as
    `in_proportion` repeats them.
    """
    # Raw draws of PCG64 are the same in every numpy; what Generator makes of them may change.
    draws = np.random.PCG64([seed, epoch])
    fits = np.flatnonzero((source_lengths <= max_length) & (target_lengths <= max_length))
    used = in_proportion(fits, sizes, weights, seed=seed, epoch=epoch) if weights else fits
    keys = draws.random_raw(len(used))
    order = used[by_length(source_lengths[used], target_lengths[used], keys)]
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


def by_length(source_lengths: Indices, target_lengths: Indices, keys: Keys | None = None) -> Indices:
    """Return an order of pairs in which neighbours are alike in both lengths, so that little is padded.

    By target length; within one, by source length, up where it is even and down where it is odd; within
    both, by key.
    """
    up_and_down = np.where(target_lengths % 2, -source_lengths, source_lengths)
    return np.lexsort((up_and_down, target_lengths) if keys is None else (keys, up_and_down, target_lengths))


def plan_of(corpus: EncodedCorpus, config: TrainingConfig, *, epoch: int) -> EpochPlan:
    """Return an epoch of a corpus by the settings; see `plan_epoch`."""
    return plan_epoch(
        corpus.source.lengths,
        corpus.target.lengths,
        tokens_per_update=config.tokens_per_update,
        max_length=config.max_length,
        seed=config.seed,
        epoch=epoch,
        sizes=corpus.sizes or (len(corpus),),
        weights=config.corpus_weights or (),
    )
