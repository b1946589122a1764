"""Sentences cut anew at random, the same for the same seed whatever else draws in this process."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import sentencepiece

from nmt_cli.subwords.segmenter import Segmenter

Drawn = TypeVar("Drawn")
MOST_SEEDS = 1 << 31
"""SentencePiece takes 32 bits; the largest number of them would mean no seed."""
ONE_AT_A_TIME = threading.Lock()


def drawn_from(seed: int, draw: Callable[[], Drawn]) -> Drawn:
    """Return what `draw` returns when SentencePiece's generator begins at a seed (taken modulo 2 ** 31).

    Each thread has a generator of its own, seeded at its first use with what is the process's seed
    then. So `draw` is called in a thread that is made for it.
    """
    with ONE_AT_A_TIME, ThreadPoolExecutor(max_workers=1) as thread:
        sentencepiece.set_random_generator_seed(seed % MOST_SEEDS)
        return thread.submit(draw).result()


def cut_anew(segmenter: Segmenter, sentences: Sequence[Sequence[int]], *, dropout: float) -> list[list[int]]:
    """Return the ids of each sentence, without end symbols, cut anew from its text with merges left out.

    A sentence that would not read the same stays as it is. Draws as `Segmenter.encode_sampled`.
    """
    cuts = []
    for ids in sentences:
        text = segmenter.decode(ids)
        cut = segmenter.encode_sampled(text, dropout=dropout)
        cuts.append(cut if segmenter.decode(cut) == text else list(ids))
    return cuts
