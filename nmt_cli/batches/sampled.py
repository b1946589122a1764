"""The pairs of an update with their subwords cut anew (BPE-dropout): a pure function of settings, step and pairs."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nmt_cli.batches.corpus import EncodedCorpus, EncodedSide, Side
from nmt_cli.batches.plan import Indices
from nmt_cli.batches.training_data import TrainingData
from nmt_cli.config import TrainingConfig
from nmt_cli.errors import UsageError
from nmt_cli.subwords.sampling import cut_anew, drawn_from
from nmt_cli.subwords.segmenter import END, Segmenter


@dataclass(frozen=True)
class SubwordSampler:
    """What cuts the sentences of each update anew."""

    source: Segmenter
    target: Segmenter
    dropout: float
    seed: int
    max_length: int

    def cut_update_anew(self, corpus: EncodedCorpus, pairs: Indices, *, step: int) -> tuple[EncodedCorpus, Indices]:
        """Return a corpus of these pairs alone, cut anew for a step, and their places in it by length.

        Every rank gets the same. A side that would be longer than `max_length` stays as it is stored.
        """

        def draw() -> EncodedCorpus:
            return EncodedCorpus(
                self._cut(corpus.source, pairs, self.source), self._cut(corpus.target, pairs, self.target)
            )

        sampled = drawn_from(_seed_of_step(self.seed, step), draw)
        return sampled, np.lexsort((sampled.source.lengths, sampled.target.lengths))

    def _cut(self, side: Side, pairs: Indices, segmenter: Segmenter) -> EncodedSide:
        stored = [side.sentence(int(pair))[:-1].tolist() for pair in pairs]
        cuts = cut_anew(segmenter, stored, dropout=self.dropout)
        most = self.max_length - 1
        kept = [cut if len(cut) <= most else before for cut, before in zip(cuts, stored, strict=True)]
        return in_memory([[*ids, END] for ids in kept])


def in_memory(sentences: Sequence[Sequence[int]]) -> EncodedSide:
    """Return a side that holds some sentences, end symbols included."""
    offsets = np.concatenate([[0], np.cumsum([len(ids) for ids in sentences])]).astype(np.int64)
    ids = np.fromiter((i for sentence in sentences for i in sentence), dtype=np.int32, count=int(offsets[-1]))
    return EncodedSide(ids, offsets)


def subword_sampler(data: TrainingData, config: TrainingConfig) -> SubwordSampler | None:
    """Return what cuts the sentences of each update anew, or None where the settings do not ask for it.

    Raises:
        UsageError: the subwords are not made by merges, so that there is nothing to leave out.
    """
    if not config.bpe_dropout:
        return None
    source, target = Segmenter.load(data.subwords_of("source")), Segmenter.load(data.subwords_of("target"))
    for segmenter, side in ((source, "source"), (target, "target")):
        if not segmenter.is_bpe:
            raise UsageError(
                f"training.bpe_dropout is {config.bpe_dropout}, but {data.subwords_of(side)} is no BPE model, and has "
                "no merges to leave out; set training.bpe_dropout=0, or encode with nmt bpe --algorithm bpe"
            )
    return SubwordSampler(source, target, config.bpe_dropout, config.seed, config.max_length)


def _seed_of_step(seed: int, step: int) -> int:
    digest = hashlib.sha256(f"subwords/{seed}/{step}".encode()).digest()
    return int.from_bytes(digest[:4], "big")
