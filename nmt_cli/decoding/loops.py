"""Outputs that loop: a model that says the same again and again instead of coming to an end."""

from __future__ import annotations

from collections.abc import Sequence

LONGEST_UNIT = 32
"""Pieces that are repeated together, at most."""
FEWEST_REPEATS = 4
FEWEST_PIECES = 12
"""Pieces that the repeats must cover together: "ha ha ha ha!" is a laugh."""
MOST_AFTER = 2
"""Pieces that may follow the last repeat, as a full stop does."""


def is_loop(output: Sequence[int], source: Sequence[int]) -> bool:
    """Tell whether an output ends in a loop.

    That is: a unit of at most 32 pieces at its end, a full stop aside, comes at least four times in a row
    and covers at least 12 pieces; and the source itself has no unit that comes at least half as often.
    """
    for after in range(MOST_AFTER + 1):
        ids = output[: len(output) - after]
        for n in range(1, min(LONGEST_UNIT, len(ids) // FEWEST_REPEATS) + 1):
            covered = n + _matches_at_end(ids, n)
            repeats = covered // n
            if repeats >= FEWEST_REPEATS and covered >= FEWEST_PIECES:
                return 2 * most_repeats(source) < repeats
    return False


def most_repeats(ids: Sequence[int]) -> int:
    """Return how often a unit of at most 32 pieces comes in a row, at most."""
    most = min(len(ids), 1)
    for n in range(1, min(LONGEST_UNIT, len(ids) // 2) + 1):
        run = 0
        for i in range(n, len(ids)):
            run = run + 1 if ids[i] == ids[i - n] else 0
            most = max(most, 1 + run // n)
    return most


def _matches_at_end(ids: Sequence[int], n: int) -> int:
    """Return how many pieces at the end equal the piece n before them."""
    i = len(ids) - 1
    while i >= n and ids[i] == ids[i - n]:
        i -= 1
    return len(ids) - 1 - i
