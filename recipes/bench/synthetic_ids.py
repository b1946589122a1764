"""A corpus of ids whose sentences are as long, and whose pieces as frequent, as those of translated newspaper text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from nmt_cli.batches.corpus import EncodedCorpus, EncodedSide
from nmt_cli.subwords.segmenter import END, UNKNOWN

MEDIAN_LENGTH = 24.0
"""Of a source, in pieces; the mean is then about 29."""
SPREAD, SPREAD_OF_RATIO = 0.6, 0.2
"""Standard deviations of the logarithms of a source's length and of target by source."""
LONGEST = 100
ZIPF_SHIFT = 2.7
"""The n-th most frequent piece comes as often as 1 / (n + this)."""

Ids = np.ndarray[Any, np.dtype[np.integer[Any]]]


@dataclass(frozen=True)
class SyntheticData:
    """What a model is trained on here, in place of a folder of pieces; it has one vocabulary for both sides."""

    corpus: EncodedCorpus
    vocabulary: int

    @property
    def source_vocab_size(self) -> int:
        """Pieces of the source side."""
        return self.vocabulary

    @property
    def target_vocab_size(self) -> int:
        """Pieces of the target side."""
        return self.vocabulary

    def train_split(self) -> EncodedCorpus:
        """Return the pairs."""
        return self.corpus


def synthetic_data(*, n_pairs: int, vocabulary: int, seed: int) -> SyntheticData:
    """Return pairs with an end symbol each, the same for the same seed."""
    generator = np.random.default_rng(seed)
    source = MEDIAN_LENGTH * np.exp(generator.normal(0.0, SPREAD, n_pairs))
    target = source * np.exp(generator.normal(0.0, SPREAD_OF_RATIO, n_pairs))
    shares = 1.0 / (np.arange(1, vocabulary - UNKNOWN) + ZIPF_SHIFT)
    up_to = np.cumsum(shares / shares.sum())
    sides = [
        _side(np.clip(np.rint(lengths), 2, LONGEST).astype(np.int64), up_to, generator) for lengths in (source, target)
    ]
    return SyntheticData(EncodedCorpus(*sides), vocabulary)


def _side(lengths: Ids, up_to: np.ndarray[Any, np.dtype[np.float64]], generator: np.random.Generator) -> EncodedSide:
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    drawn = np.searchsorted(up_to, generator.random(int(offsets[-1])), side="right")
    ids = (np.minimum(drawn, len(up_to) - 1) + UNKNOWN + 1).astype(np.uint32)
    ids[offsets[1:] - 1] = END
    return EncodedSide(ids, offsets)
