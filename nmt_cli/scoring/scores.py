"""Every score of a set of translations at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nmt_cli.scoring.bleu import lowercased_bleu, paper_bleu, sacrebleu_bleu, split_bleu, tokenised_bleu
from nmt_cli.scoring.chrf_ter import chrf, ter
from nmt_cli.scoring.moses import WITHOUT_SPACES
from nmt_cli.scoring.result import MetricResult

NAME_WIDTH = len("sacreBLEU")


@dataclass(frozen=True)
class Scores:
    """The results for one set of translations, sacreBLEU first."""

    n_lines: int
    n_references: int
    target_language: str
    results: tuple[MetricResult, ...]

    def lines(self) -> list[str]:
        """Return a line for each result: name, figure, protocol, signature."""
        return [
            f"{result.name:<{NAME_WIDTH}}  {result.score:6.2f}  {result.protocol}  [{result.signature}]"
            for result in self.results
        ]

    def as_json(self) -> dict[str, object]:
        """Return the results by key, with what they were measured on."""
        return {
            "lines": self.n_lines,
            "target_language": self.target_language,
            "scores": {result.key: result.as_json() for result in self.results},
        }


def score_translations(
    hypotheses: Sequence[str],
    *references: Sequence[str],
    target_language: str,
    tokeniser: str | None = None,
    lowercase: bool = False,
) -> Scores:
    """Return sacreBLEU, BLEU in the tokenised protocols, chrF2 and TER.

    `tokeniser` is sacreBLEU's; `lowercase` holds for all but the protocols that fix the case. Languages
    written without spaces have no tokenised protocols.

    Raises:
        DataError: no lines, or not as many in each.
        UsageError: a tokeniser that is unknown or not installed.
    """
    results: list[MetricResult] = [
        sacrebleu_bleu(
            hypotheses, *references, target_language=target_language, tokeniser=tokeniser, lowercase=lowercase
        )
    ]
    if target_language not in WITHOUT_SPACES:
        results += [
            tokenised_bleu(hypotheses, *references, target_language=target_language, lowercase=lowercase),
            split_bleu(hypotheses, *references, target_language=target_language, lowercase=lowercase),
            paper_bleu(hypotheses, *references, target_language=target_language),
            lowercased_bleu(hypotheses, *references, target_language=target_language),
        ]
    results += [chrf(hypotheses, *references, lowercase=lowercase), ter(hypotheses, *references)]
    return Scores(len(hypotheses), len(references), target_language, tuple(results))
