"""Whether a converted model answers as the torch engine does."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from nmt_cli.config import SearchConfig
from nmt_cli.decoding.ctranslate_engine import CTranslateEngine
from nmt_cli.decoding.engine import TorchEngine
from nmt_cli.decoding.translator import ScoringEngine
from nmt_cli.errors import ModelError
from nmt_cli.model_folder import ModelFolder
from nmt_cli.subwords.segmenter import END, UNKNOWN, Segmenter

PROBES = 50
LEAST_SAME = 0.98
MOST_APART = 1e-3
"""In nats, of an output."""
PROBE_SEARCH = SearchConfig(beam_size=1, length_penalty="length", max_extra=10)
"""Greedy: what differs is then the model, not which hypotheses of a beam count as ended."""


class Agreement(NamedTuple):
    """How alike two engines are on some sources."""

    same: int
    """Sources with the same best output."""
    total: int
    apart: float
    """Largest difference between the log-probabilities of the first engine's outputs, in nats."""


def agreement(
    reference: ScoringEngine, other: ScoringEngine, sources: Sequence[Sequence[int]], search: SearchConfig
) -> Agreement:
    """Compare two engines; sources hold their end symbol."""
    outputs = [found[0] for found in reference.search(sources, search)]
    others = [found[0] for found in other.search(sources, search)]
    same = sum(one.ids == another.ids for one, another in zip(outputs, others, strict=True))
    targets = [[*output.ids, END] for output in outputs]
    pairs = zip(reference.score(sources, targets), other.score(sources, targets), strict=True)
    return Agreement(same, len(outputs), max((abs(one - another) for one, another in pairs), default=0.0))


def refuse_unequal(folder: ModelFolder, converted: Path) -> None:
    """See that a float32 conversion agrees with the torch engine on pieces drawn at random.

    Raises:
        ModelError: it does not.
    """
    source, target = Segmenter.load(folder.source_subwords), Segmenter.load(folder.target_subwords)
    engine = CTranslateEngine.load(
        converted,
        source=source.pieces(range(source.vocab_size)),
        target=target.pieces(range(target.vocab_size)),
        config=folder.description.model,
    )
    found = agreement(TorchEngine.load(folder), engine, probes(source.vocab_size), PROBE_SEARCH)
    if found.same < LEAST_SAME * found.total or not found.apart <= MOST_APART:
        raise ModelError(
            f"{folder.path}: converted for CTranslate2 it answers otherwise than by torch: {found.same} of "
            f"{found.total} outputs the same, log-probabilities up to {found.apart:.2g} apart; use --engine torch"
        )


def probes(vocab_size: int) -> list[list[int]]:
    """Return sequences of 1 to 12 pieces, drawn from a fixed seed, with their end symbols."""
    rng = np.random.default_rng(1)
    return [[*rng.integers(UNKNOWN + 1, vocab_size, size=rng.integers(1, 13)).tolist(), END] for _ in range(PROBES)]
