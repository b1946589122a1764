"""Corpus BLEU of words as they come: the arithmetic of Moses' multi-bleu, without smoothing."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

MAX_ORDER = 4
N_COUNTS = 2 + 2 * MAX_ORDER
Words = Sequence[str]


@dataclass(frozen=True)
class CorpusBleu:
    """BLEU of a corpus and what it is made of (Papineni et al., 2002)."""

    score: float
    """0 to 100."""
    precisions: tuple[float, ...]
    """Clipped precisions of n-grams of 1 to 4 words, 0 to 100."""
    brevity_penalty: float
    hypothesis_length: int
    """In words."""
    reference_length: int
    """In words; with several references, of the one nearest in length to each hypothesis."""


def corpus_bleu(hypotheses: Sequence[Words], *references: Sequence[Words]) -> CorpusBleu:
    """Return BLEU-4; zero as soon as one precision is zero.

    Counts are clipped at the highest count in any one reference. Of two references equally near in length
    the shorter one counts.
    """
    counts = [line_counts(*line) for line in zip(hypotheses, *references, strict=True)]
    hypothesis_length, reference_length, *rest = map(sum, zip(*counts, strict=True)) if counts else [0] * N_COUNTS
    matches, totals = rest[:MAX_ORDER], rest[MAX_ORDER:]
    precisions = tuple(found / total if total else 0.0 for found, total in zip(matches, totals, strict=True))
    penalty = brevity_penalty(hypothesis_length, reference_length)
    return CorpusBleu(
        score=100 * penalty * geometric_mean(precisions),
        precisions=tuple(100 * precision for precision in precisions),
        brevity_penalty=penalty,
        hypothesis_length=hypothesis_length,
        reference_length=reference_length,
    )


def line_counts(hypothesis: Words, *references: Words) -> tuple[int, ...]:
    """Return what a line adds to the sums that BLEU is made of.

    These are the lengths of hypothesis and nearest reference, then the matches of each order, then the totals.
    """
    length = len(hypothesis)
    nearest = min((len(words) for words in references), key=lambda n: (abs(n - length), n))
    matches, totals = [], []
    for order in range(1, MAX_ORDER + 1):
        counts = ngrams(hypothesis, order)
        allowed = Counter[tuple[str, ...]]()
        for words in references:
            allowed |= ngrams(words, order)
        matches.append((counts & allowed).total())
        totals.append(counts.total())
    return length, nearest, *matches, *totals


def ngrams(words: Words, order: int) -> Counter[tuple[str, ...]]:
    """Return how often each run of `order` words occurs."""
    return Counter(zip(*(words[start:] for start in range(order)), strict=False))


def brevity_penalty(hypothesis_length: int, reference_length: int) -> float:
    """Return exp(1 - r/c) where the hypotheses are shorter than the references, else 1."""
    if hypothesis_length >= reference_length:
        return 1.0
    return math.exp(1 - reference_length / hypothesis_length) if hypothesis_length else 0.0


def geometric_mean(precisions: Sequence[float]) -> float:
    """Return the mean of the logarithms, as a number again; zero where one is zero."""
    if min(precisions) <= 0:
        return 0.0
    return math.exp(math.fsum(math.log(precision) for precision in precisions) / len(precisions))
