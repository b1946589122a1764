"""Padded batches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from nmt_cli.batches.corpus import EncodedCorpus, Side
from nmt_cli.batches.plan import Indices
from nmt_cli.subwords.segmenter import PAD

IdMatrix = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True)
class Batch:
    """Pairs side by side, padded at the end with the padding symbol."""

    source: IdMatrix
    """[B S]"""
    target_in: IdMatrix
    """[B T]: the target shifted right by one; its first symbol is the padding symbol, a zero vector."""
    target_out: IdMatrix
    """[B T]: the target with its end symbol."""

    @property
    def target_tokens(self) -> int:
        """Real target tokens, end symbols counted."""
        return int(np.count_nonzero(self.target_out))


def pad_batch(corpus: EncodedCorpus, pairs: Indices) -> Batch:
    """Return a batch of the given pairs."""
    target_out = _padded(corpus.target, pairs)
    target_in = np.full_like(target_out, PAD)
    target_in[:, 1:] = np.where(target_out[:, 1:] == PAD, PAD, target_out[:, :-1])
    return Batch(_padded(corpus.source, pairs), target_in, target_out)


def _padded(side: Side, pairs: Indices) -> IdMatrix:
    sentences = [side.sentence(int(pair)) for pair in pairs]
    matrix = np.full((len(sentences), max(len(ids) for ids in sentences)), PAD, dtype=np.int64)
    for row, ids in zip(matrix, sentences, strict=True):
        row[: len(ids)] = ids
    return matrix
