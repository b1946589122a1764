"""Batches without padding: all real tokens of a side in one row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from nmt_cli.batches.padding import Batch, IdMatrix
from nmt_cli.subwords.segmenter import PAD

IdRow = np.ndarray[Any, np.dtype[np.int64]]
Starts = np.ndarray[Any, np.dtype[np.int32]]


@dataclass(frozen=True)
class PackedSide:
    """The sentences of one side, end to end."""

    ids: IdRow
    """[N]"""
    places: IdRow
    """[N]: position of each token in its sentence, from 0."""
    starts: Starts
    """[B + 1]: cumulative lengths; sentence i is tokens starts[i] to starts[i + 1] - 1."""
    longest: int
    """Tokens of the longest sentence."""


@dataclass(frozen=True)
class PackedBatch:
    """The pairs of a padded batch, sentence after sentence."""

    source: PackedSide
    target_in: PackedSide
    """Each target shifted right by one; its first symbol is the padding symbol, a zero vector."""
    target_out: IdRow
    """[N]: the targets with their end symbols."""


def pack(batch: Batch) -> PackedBatch:
    """Return the real tokens of a padded batch, in its order."""
    in_target = batch.target_out != PAD
    return PackedBatch(
        _packed(batch.source, batch.source != PAD), _packed(batch.target_in, in_target), batch.target_out[in_target]
    )


def _packed(ids: IdMatrix, real: np.ndarray[Any, np.dtype[np.bool_]]) -> PackedSide:
    lengths = np.count_nonzero(real, axis=1)
    starts = np.zeros(len(lengths) + 1, dtype=np.int32)
    starts[1:] = np.cumsum(lengths)
    places = np.broadcast_to(np.arange(ids.shape[1]), ids.shape)[real]
    return PackedSide(ids[real], places, starts, int(lengths.max()))
