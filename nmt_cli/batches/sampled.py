"""The pairs of an update with their subwords cut anew (BPE-dropout): a pure function of settings, step and pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nmt_cli.batches.corpus import EncodedCorpus, EncodedSide, Side
from nmt_cli.batches.plan import Indices, by_length
from nmt_cli.batches.training_data import TrainingData
from nmt_cli.config import TrainingConfig
from nmt_cli.errors import UsageError
from nmt_cli.subwords.sampling import Drops, WordCutter
from nmt_cli.subwords.segmenter import END, Segmenter

CUTS = 1 << 31
"""Keeps the seeds of cuts apart from those of the plan."""


@dataclass(frozen=True)
class SubwordSampler:
    """What cuts the sentences of each update anew."""

    source: WordCutter
    target: WordCutter
    dropout: float
    seed: int
    max_length: int

    def cut_update_anew(self, corpus: EncodedCorpus, pairs: Indices, *, step: int) -> tuple[EncodedCorpus, Indices]:
        """Return a corpus of these pairs alone, cut anew for a step, and their places in it by length.

        Every rank gets the same. A side that would be longer than `max_length` stays as it is stored.
        """
        drops = Drops(self.dropout, seed=[self.seed, step, CUTS])
        sampled = EncodedCorpus(
            self._cut(corpus.source, pairs, self.source, drops), self._cut(corpus.target, pairs, self.target, drops)
        )
        return sampled, by_length(sampled.source.lengths, sampled.target.lengths)

    def _cut(self, side: Side, pairs: Indices, cutter: WordCutter, drops: Drops) -> EncodedSide:
        stored = [side.sentence(int(pair))[:-1].tolist() for pair in pairs]
        cuts = [cutter.cut(ids, drops) for ids in stored]
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
    cutters = {}
    for path in {data.subwords_of("source"), data.subwords_of("target")}:
        segmenter = Segmenter.load(path)
        if not segmenter.is_bpe:
            raise UsageError(
                f"training.bpe_dropout is {config.bpe_dropout}, but {path} is no BPE model, and has no merges to leave "
                "out; set training.bpe_dropout=0, or encode with nmt bpe --algorithm bpe"
            )
        cutters[path] = WordCutter(segmenter)
    source, target = (cutters[data.subwords_of(side)] for side in ("source", "target"))
    return SubwordSampler(source, target, config.bpe_dropout, config.seed, config.max_length)
