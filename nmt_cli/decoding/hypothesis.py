"""What a search gives back, and what it is worth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Alignment = tuple[tuple[int, int], ...]
"""Places of source and target pieces that belong together, by target; the end symbols have none."""


@dataclass(frozen=True)
class Hypothesis:
    """One output for one input."""

    ids: list[int]
    """Without the end symbol."""
    log_prob: float
    """In nats, that of the end symbol included."""
    score: float
    """Log-probability over length penalty; of a hypothesis that was cut, the log-probability."""
    is_cut: bool = False
    """Whether the output reached its limit without an end symbol."""
    alignment: Alignment | None = None
    """Where it was asked for."""


def length_penalty(length: int, *, kind: Literal["wu", "length", "none", "wu-rescored"], alpha: float) -> float:
    """Return what the log-probability of `length` pieces, end symbol included, is divided by.

    `wu` is ((5 + n) / 6)^alpha (Wu et al. 2016, equation 14, which the paper uses), `length` is n^alpha.
    Until it is rescored by the former, `wu-rescored` is the latter.
    """
    match kind:
        case "wu":
            return float(((5 + length) / 6) ** alpha)
        case "length" | "wu-rescored":
            return float(length**alpha)
        case "none":
            return 1.0
