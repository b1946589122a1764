"""BPE-dropout (Provilkov et al., arXiv 1910.13267): words cut anew, each merge left out with a probability.

The merges are done here and not by SentencePiece, whose draws differ from process to process.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from nmt_cli.subwords.segmenter import SPACE_MARK, Segmenter

NEVER = math.inf
DRAWS_AT_A_TIME = 4096


class Drops:
    """One draw after the other: is this merge left out? The same in every process and every numpy."""

    def __init__(self, dropout: float, *, seed: Sequence[int]) -> None:
        """Begin at a seed."""
        self._raw = np.random.PCG64(list(seed))
        self._below = np.uint64(int(dropout * 2.0**64))
        self._draws, self._next = b"", 0

    def next(self) -> bool:
        """Tell whether the next merge is left out."""
        self._have(1)
        self._next += 1
        return self._draws[self._next - 1] == 1

    def pass_by(self, n_merges: int) -> bool:
        """Go past the next merges if none of them is left out; else stay and return False."""
        self._have(n_merges)
        if self._draws.find(1, self._next, self._next + n_merges) >= 0:
            return False
        self._next += n_merges
        return True

    def _have(self, n_draws: int) -> None:
        while len(self._draws) - self._next < n_draws:
            more = self._raw.random_raw(DRAWS_AT_A_TIME) < self._below
            self._draws, self._next = self._draws[self._next :] + more.tobytes(), 0


class WordCutter:
    """Cuts the words of sentences anew, given the pieces that all the merges of a BPE model make of them."""

    def __init__(self, segmenter: Segmenter) -> None:
        """Read pieces and merges."""
        self._names = segmenter.pieces(range(segmenter.vocab_size))
        self._is_text = [segmenter.is_text(piece) for piece in range(segmenter.vocab_size)]
        self._ids = {name: piece for piece, name in enumerate(self._names) if self._is_text[piece]}
        self._ranks = segmenter.merge_ranks()
        # A piece across words would make all that is not cut by other symbols one word.
        self._has_words = not any(SPACE_MARK in name[1:] for name in self._ids)

    def cut(self, sentence: Sequence[int], drops: Drops) -> list[int]:
        """Return the ids of a sentence, without end symbol, cut anew; they spell the same characters.

        Symbols that spell none by themselves, such as bytes, stay.
        """
        result: list[int] = []
        word: list[int] = []
        for piece in sentence:
            is_text = self._is_text[piece]
            if word and (not is_text or (self._has_words and self._names[piece][0] == SPACE_MARK)):
                result += self._cut_word(word, drops)
                word = []
            (word if is_text else result).append(piece)
        return result + self._cut_word(word, drops)

    def _cut_word(self, word: list[int], drops: Drops) -> list[int]:
        text = "".join([self._names[piece] for piece in word])
        if drops.pass_by(len(text) - len(word)):  # as many merges made these pieces
            return word
        symbols = merged(text, self._ranks, drops.next)
        try:
            return [self._ids[symbol] for symbol in symbols]
        except KeyError:  # a character that is no piece by itself
            return word


def merged(text: str, ranks: dict[str, float], is_dropped: Callable[[], bool]) -> list[str]:
    """Return the symbols of a word (algorithm 1 of the paper).

    Time after time, of all merges that are possible the first in rank, then place, that is not left
    out is done, until there is none. One that was left out may come the next time.
    """
    symbols = list(text)
    possible = [ranks.get(left + right, NEVER) for left, right in pairwise(symbols)]
    while possible:
        place = _first_kept(possible, is_dropped)
        if place is None:
            break
        symbols[place : place + 2] = [symbols[place] + symbols[place + 1]]
        del possible[place]
        for side in (place - 1, place):
            if 0 <= side < len(possible):
                possible[side] = ranks.get(symbols[side] + symbols[side + 1], NEVER)
    return symbols


def _first_kept(possible: list[float], is_dropped: Callable[[], bool]) -> int | None:
    rank = min(possible)
    if rank == NEVER:
        return None
    if not is_dropped():
        return possible.index(rank)
    others = sorted((rank, place) for place, rank in enumerate(possible) if rank != NEVER)[1:]
    return next((place for _, place in others if not is_dropped()), None)
