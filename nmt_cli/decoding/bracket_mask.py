"""Which tokens keep a linear tree possible: balanced brackets over exactly the given number of words.

Over tokens of the linear forms of `trees`: a vocabulary whose pieces are whole tokens can be masked with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Kind = Literal["open", "close", "word", "end"]


@dataclass(frozen=True)
class BracketState:
    """A linear string that has begun well: what is open, and how many words are to come."""

    words_left: int
    tokens_left: int
    """Most tokens that may still come, the end not counted."""
    open: tuple[tuple[str, bool], ...] = ()
    """Labels of the open constituents, outermost first, and whether each has a word already."""
    begun: bool = False

    def allows(self, kind: Kind, label: str = "") -> bool:
        """Tell whether a token may come next, so that a whole tree can still follow within the limit."""
        match kind:
            case "end":
                return self.begun and not self.open and not self.words_left
            case "open":
                possible = self.words_left > 0 and (bool(self.open) or not self.begun)
            case "word":
                possible = bool(self.open) and self.words_left > 0
            case "close":
                possible = bool(self.open) and self.open[-1] == (label, True)
                # The last constituent may only close when no word is left outside of it.
                possible = possible and (len(self.open) > 1 or not self.words_left)
        return possible and self.after(kind, label).shortest <= self.tokens_left - 1

    @property
    def shortest(self) -> int:
        """Fewest tokens that make a whole tree of this."""
        return self.words_left + len(self.open) + (0 if self.begun else 2)

    def after(self, kind: Kind, label: str = "") -> BracketState:
        """Return the state behind an allowed token."""
        opened, words = self.open, self.words_left
        if kind == "open":
            opened = (*opened, (label, False))
        elif kind == "close":
            opened = opened[:-1]
        elif kind == "word":
            opened, words = tuple((name, True) for name, _ in opened), words - 1
        return BracketState(words, self.tokens_left - 1, opened, begun=True)


def allowed(state: BracketState, tokens: Sequence[tuple[Kind, str]]) -> list[bool]:
    """Return for each token of a vocabulary, as kind and label, whether it may come next."""
    return [state.allows(kind, label) for kind, label in tokens]
