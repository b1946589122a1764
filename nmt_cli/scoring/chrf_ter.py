"""chrF of characters and TER of edits, by sacreBLEU."""

from __future__ import annotations

from collections.abc import Sequence

from nmt_cli.scoring.bleu import case_word, numbered
from nmt_cli.scoring.result import MetricResult, check_parallel


def chrf(hypotheses: Sequence[str], *references: Sequence[str], lowercase: bool = False) -> MetricResult:
    """Return chrF2, 0 to 100 (Popović, 2015).

    Raises:
        DataError: no lines, or not as many in each.
    """
    from sacrebleu.metrics.chrf import CHRF

    check_parallel(hypotheses, numbered(references), name="hypotheses")
    metric = CHRF(lowercase=lowercase)
    score = float(metric.corpus_score(hypotheses, references).score)
    protocol = f"characters, {case_word(lowercase=lowercase)}"
    return MetricResult(
        key="chrf2", name="chrF2", score=score, protocol=protocol, signature=str(metric.get_signature())
    )


def ter(hypotheses: Sequence[str], *references: Sequence[str]) -> MetricResult:
    """Return TER, edits in a hundred words of the reference (Snover et al., 2006), lower-cased as is usual.

    Raises:
        DataError: no lines, or not as many in each.
    """
    from sacrebleu.metrics.ter import TER

    check_parallel(hypotheses, numbered(references), name="hypotheses")
    metric = TER()
    score = float(metric.corpus_score(hypotheses, references).score)
    protocol = "edits, lower-cased; lower is better"
    return MetricResult(key="ter", name="TER", score=score, protocol=protocol, signature=str(metric.get_signature()))
