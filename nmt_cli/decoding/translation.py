"""What the translator gives back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypedDict

from nmt_cli.decoding.hypothesis import Alignment


class AlignmentOfLine(TypedDict, total=False):
    """What a candidate says of its alignment."""

    pieces: tuple[str, ...]
    alignment: Alignment


@dataclass(frozen=True)
class Candidate:
    """One of the n best translations of a line."""

    text: str
    score: float
    """Log-probability over length penalty; of a line translated in parts, the sum over its parts."""
    log_prob: float
    """In nats."""
    is_cut: bool = False
    """Whether the output reached its limit of length without an end."""
    is_loop: bool = False
    """Whether it ends in pieces repeated over and over, which its source does not."""
    pieces: tuple[str, ...] | None = None
    """Of the model, where alignments were asked for; of a line translated in parts, those of all parts."""
    alignment: Alignment | None = None
    """Places in `source_pieces` and `pieces` that belong together, where it was asked for."""


@dataclass(frozen=True)
class Translation:
    """What a line became; `str()` of it is the text."""

    candidates: tuple[Candidate, ...]
    """Best first, texts distinct: at least one, at most n_best."""
    source_length: int
    """Pieces of the source, end symbol included; 0 for a blank line, which no model sees."""
    n_parts: int
    """More than 1 where the source was over the limit and translated in parts."""
    source_pieces: tuple[str, ...] | None = None
    """Of the model, where alignments were asked for."""

    @property
    def text(self) -> str:
        """The best translation; it holds no LF, CR or TAB."""
        return self.candidates[0].text

    @property
    def score(self) -> float:
        """Of the best translation: log-probability over length penalty."""
        return self.candidates[0].score

    @property
    def log_prob(self) -> float:
        """Of the best translation, in nats."""
        return self.candidates[0].log_prob

    @property
    def is_cut(self) -> bool:
        """Whether the best translation reached its limit of length without an end."""
        return self.candidates[0].is_cut

    @property
    def is_loop(self) -> bool:
        """Whether the best translation ends in a loop."""
        return self.candidates[0].is_loop

    def __str__(self) -> str:
        """Return the text."""
        return self.text


class GivenScore(NamedTuple):
    """What a given translation is worth to a model."""

    log_prob: float
    """In nats, that of the end symbol included."""
    tokens: int
    """Pieces of the translation, end symbol included."""


class TooLongError(Exception):
    """A text that the model cannot take; whoever knows the file says where."""

    def __init__(self, side: str, place: int, reason: str) -> None:
        """Name the side, source or target, and the place among the lines given."""
        super().__init__(reason)
        self.side, self.place = side, place


BLANK = Translation((Candidate("", 0.0, 0.0),), source_length=0, n_parts=0)
