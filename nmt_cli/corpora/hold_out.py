"""Which pair goes to train, valid or test, and which repeats another: a function of the texts and the seed.

No sentence, source or target, stands in two splits: pairs that share a sentence, directly or through
others, form a family, and a family stays together.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import IntEnum
from typing import Any

import numpy as np

from nmt_cli.config import CleaningConfig
from nmt_cli.corpora.keys import Mask, Numbers, PairKeys

Indices = np.ndarray[Any, np.dtype[np.int64]]
Fates = np.ndarray[Any, np.dtype[np.uint8]]
DEFAULT_TEST = 1000
AT_MOST_A = 10


class Fate(IntEnum):
    """What becomes of a pair that is good in itself."""

    TRAIN = 0
    VALID = 1
    TEST = 2
    DUPLICATE = 3
    OVERLAP = 4


HELD_OUT = {"valid": Fate.VALID, "test": Fate.TEST}


def decide_fates(pairs: PairKeys, given: Mapping[str, PairKeys], config: CleaningConfig) -> Fates:
    """Return the fate of each pair, where `given` are the splits that the user has brought."""
    fates = np.full(len(pairs), Fate.TRAIN, dtype=np.uint8)
    if config.drop_duplicates:
        fates[_repeated(pairs.pairs)] = Fate.DUPLICATE
    overlapping = np.zeros(len(pairs), dtype=np.bool_)
    for held_out in given.values():
        overlapping |= shares_a_sentence(pairs, held_out)
    if config.drop_overlap:
        fates[overlapping & (fates == Fate.TRAIN)] = Fate.OVERLAP
    usable = np.flatnonzero(fates == Fate.TRAIN)
    sizes = wanted_sizes(config, given)
    wanted = {HELD_OUT[split]: min(size, len(usable) // AT_MOST_A) for split, size in sizes.items()}
    if any(wanted.values()):
        families = _families(pairs.sources[usable], pairs.targets[usable])
        barred = np.isin(families, families[overlapping[usable]])
        for fate, chosen in _choose(families, pairs.pairs[usable], barred, wanted).items():
            fates[usable[chosen]] = fate
    return fates


def wanted_sizes(config: CleaningConfig, given: Collection[str]) -> dict[str, int]:
    """Return how many pairs to hold out for each split that is not given."""
    default_test = 0 if "valid" in given else DEFAULT_TEST
    wanted = {"valid": config.n_valid, "test": default_test if config.n_test is None else config.n_test}
    return {split: size for split, size in wanted.items() if split not in given}


def shares_a_sentence(pairs: PairKeys, others: PairKeys) -> Mask:
    """Tell of each pair whether its source or its target stands among the others."""
    return np.isin(pairs.sources, others.sources) | np.isin(pairs.targets, others.targets)


def _repeated(digests: Numbers) -> Mask:
    repeated = np.ones(len(digests), dtype=np.bool_)
    repeated[np.unique(digests, return_index=True)[1]] = False
    return repeated


def _families(sources: Numbers, targets: Numbers) -> Indices:
    """Return for each pair the first pair of its family (connected components by smallest label)."""
    sides = [np.unique(side, return_inverse=True)[1] for side in (sources, targets)]
    labels = np.arange(len(sources))
    while True:
        smaller = labels
        for side in sides:
            least = np.full(len(labels), len(labels))
            np.minimum.at(least, side, smaller)
            smaller = least[side]
        smaller = smaller[smaller]
        if np.array_equal(smaller, labels):
            return labels
        labels = smaller


def _choose(families: Indices, digests: Numbers, barred: Mask, wanted: Mapping[Fate, int]) -> dict[Fate, Indices]:
    """Return the pairs of each split: whole families in the order of their digests, the largest last."""
    _, first, family, sizes = np.unique(families, return_index=True, return_inverse=True, return_counts=True)
    rank = np.zeros(len(sizes), dtype=np.uint64)
    np.add.at(rank, family, digests)
    large = sizes > max(wanted.values()) // AT_MOST_A
    large &= sizes > 1
    left = dict(wanted)
    fate_of = np.full(len(sizes), Fate.TRAIN, dtype=np.uint8)
    for candidate in np.lexsort((rank, large)).tolist():
        if not any(left.values()):
            break
        size = int(sizes[candidate])
        fitting = [fate for fate, room in left.items() if size <= room]
        if fitting and not barred[first[candidate]]:
            fate_of[candidate] = fitting[0]
            left[fitting[0]] -= size
    return {fate: np.flatnonzero(fate_of[family] == fate) for fate in wanted}
