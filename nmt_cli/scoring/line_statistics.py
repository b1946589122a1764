"""What each line adds to a score: every score here is a function of sums over the lines.

So a sample of lines, or lines exchanged between two systems, is scored without looking at the text again.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nmt_cli.scoring.bleu import moses_recipe
from nmt_cli.scoring.multi_bleu import MAX_ORDER, line_counts
from nmt_cli.scoring.result import MetricResult

Array = np.ndarray[Any, np.dtype[np.float64]]
Lines = Sequence[str]
CHRF_ORDER = 6
CHRF_BETA = 2


@dataclass(frozen=True)
class LineStatistics:
    """A row of numbers a line, and the score that sums of such rows give."""

    rows: Array
    """[lines, columns]"""
    scores_of: Callable[[Array], Array]
    """From sums [samples, columns] to scores [samples], on the scale of the metric."""

    @property
    def score(self) -> float:
        """The score of all lines."""
        return float(self.scores_of(self.rows.sum(axis=0, keepdims=True))[0])


def line_statistics(
    result: MetricResult,
    hypotheses: Lines,
    *references: Lines,
    target_language: str,
    tokeniser: str,
    lowercase: bool,
) -> LineStatistics:
    """Return the statistics behind one of the results for these lines; `tokeniser` is the one of sacreBLEU."""
    lines = list(zip(hypotheses, *references, strict=True))
    match result.key:
        case "sacrebleu":
            rows, scores_of = sacrebleu_rows(lines, tokeniser, lowercase=lowercase), smoothed_bleu
        case "chrf2":
            rows, scores_of = [chrf_row(*line, lowercase=lowercase) for line in lines], chrf_score
        case "ter":
            rows, scores_of = ter_rows(lines), ter_score
        case key:
            words = functools.cache(moses_recipe(key, target_language, lowercase=lowercase).words)
            rows, scores_of = [line_counts(*map(words, line)) for line in lines], plain_bleu
    return LineStatistics(np.array(rows, dtype=np.float64), scores_of)


def sacrebleu_rows(lines: Sequence[tuple[str, ...]], tokeniser: str, *, lowercase: bool) -> Sequence[Sequence[float]]:
    """Return the counts of each line, as `multi_bleu.line_counts` orders them."""
    from sacrebleu.metrics.bleu import BLEU

    # The effective order only changes the score of a line, which is not used, and silences a remark on it.
    metric = BLEU(lowercase=lowercase, tokenize=tokeniser, force=True, effective_order=True)
    found = (metric.sentence_score(hypothesis, references) for hypothesis, *references in lines)
    return [(score.sys_len, score.ref_len, *score.counts, *score.totals) for score in found]


def ter_rows(lines: Sequence[tuple[str, ...]]) -> Sequence[Sequence[float]]:
    """Return edits and length of the reference, the mean of several, for each line."""
    from sacrebleu.metrics.ter import TER

    metric = TER()
    found = (metric.sentence_score(hypothesis, references) for hypothesis, *references in lines)
    return [(score.num_edits, score.ref_length) for score in found]


def chrf_row(hypothesis: str, *references: str, lowercase: bool) -> Sequence[float]:
    """Return hypothesis, reference and matching counts of each order, by the reference that gives the best chrF."""
    texts = ["".join((text.lower() if lowercase else text).split()) for text in (hypothesis, *references)]
    rows = []
    for reference in texts[1:]:
        row: list[float] = []
        for order in range(1, CHRF_ORDER + 1):
            ours, theirs = (
                Counter(text[i : i + order] for i in range(len(text) - order + 1)) for text in (texts[0], reference)
            )
            # As sacreBLEU has it: what no reference could match does not count.
            row += [ours.total() if theirs else 0, theirs.total(), (ours & theirs).total()]
        rows.append(row)
    return rows[int(np.argmax(chrf_score(np.array(rows, dtype=np.float64))))]


def smoothed_bleu(sums: Array) -> Array:
    """Return BLEU with sacreBLEU's smoothing: the n-th order without a match counts as 1 / 2^n of one."""
    matches, totals = sums[:, 2 : 2 + MAX_ORDER], sums[:, 2 + MAX_ORDER :]
    without = matches == 0
    smoothed = np.where(without, 0.5 ** np.cumsum(without, axis=1), matches)
    return np.where(matches.any(axis=1), bleu_of(smoothed, totals, sums), 0.0)


def plain_bleu(sums: Array) -> Array:
    """Return BLEU as multi-bleu computes it."""
    return bleu_of(sums[:, 2 : 2 + MAX_ORDER], sums[:, 2 + MAX_ORDER :], sums)


def bleu_of(matches: Array, totals: Array, sums: Array) -> Array:
    """Return penalty times geometric mean, 0 to 100; zero where a precision is."""
    precisions = divided(matches, totals)
    with np.errstate(divide="ignore"):
        mean: Array = np.exp(np.log(precisions).mean(axis=1))
    # Without a word there is no precision either, so that the penalty does not matter.
    penalty: Array = np.exp(np.minimum(0.0, 1 - divided(sums[:, 1], sums[:, 0])))
    return 100 * mean * penalty


def chrf_score(sums: Array) -> Array:
    """Return chrF, 0 to 100: precision and recall are means over the orders that both sides have."""
    ours, theirs, matches = (sums[:, column::3] for column in range(3))
    both = (ours > 0) & (theirs > 0)
    n_orders = both.sum(axis=1)
    precision = divided((divided(matches, ours) * both).sum(axis=1), n_orders)
    recall = divided((divided(matches, theirs) * both).sum(axis=1), n_orders)
    return 100 * divided((1 + CHRF_BETA**2) * precision * recall, CHRF_BETA**2 * precision + recall)


def ter_score(sums: Array) -> Array:
    """Return edits in a hundred words; 100 where edits stand against no word at all."""
    edits, words = sums[:, 0], sums[:, 1]
    return 100 * np.where(words > 0, divided(edits, words), edits > 0)


def divided(numerator: Array, denominator: Array) -> Array:
    """Return the quotient, and zero where the denominator is zero."""
    out = np.zeros(np.broadcast_shapes(numerator.shape, denominator.shape))
    return np.divide(numerator, denominator, out=out, where=denominator != 0)
