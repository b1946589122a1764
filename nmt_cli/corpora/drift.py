"""Whether two sides look parallel: where they are, long sentences have long translations."""

from __future__ import annotations

from typing import Any

import numpy as np

from nmt_cli.corpora.keys import PairKeys

Floats = np.ndarray[Any, np.dtype[np.float64]]
FEWEST = 200
UNRELATED = 0.25
RELATED = 0.5


def alignment_warning(pairs: PairKeys) -> str | None:
    """Return what is suspicious about the lengths of the two sides, with the line where it begins."""
    source, target = (np.log1p(words.astype(np.float64)) for words in pairs.words)
    if len(source) < FEWEST:
        return None
    whole = _correlation(source, target)
    if whole < UNRELATED:
        return (
            f"the lengths of the two sides hardly go together (correlation {whole:.2f}, usual is 0.7 and more); "
            "are the files parallel?"
        )
    start = _break(source - target)
    if not FEWEST <= start <= len(source) - FEWEST:
        return None
    before, after = _correlation(source[:start], target[:start]), _correlation(source[start:], target[start:])
    if before < RELATED or after >= UNRELATED:
        return None
    return (
        f"from about line {int(pairs.lines[start]):,} the lengths of the two sides no longer go together "
        f"(correlation {before:.2f} before, {after:.2f} after); are the files parallel from there?"
    )


def _break(log_ratio: Floats) -> int:
    """Return where the spread of the ratio changes most (the extreme of its cumulative sum)."""
    spread = np.abs(log_ratio - np.median(log_ratio))
    return int(np.argmax(np.abs(np.cumsum(spread - spread.mean())))) + 1


def _correlation(left: Floats, right: Floats) -> float:
    if not (left.std() > 0 and right.std() > 0):
        return 1.0
    return float(np.corrcoef(left, right)[0, 1])
