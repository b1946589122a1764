"""Input that is longer than a model can take at a time."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

MAX_SOURCE_LENGTH = 1024
"""Pieces, end symbol included; memory for attention grows with the square of it."""


def split_ids(
    ids: Sequence[int], limit: int, starts_word: Callable[[Sequence[int]], Iterable[bool]]
) -> list[list[int]]:
    """Return the ids in parts of at most `limit`, of like size, cut before words wherever these allow it."""
    if len(ids) <= limit:
        return [list(ids)]
    word_starts = [place for place, starts in enumerate(starts_word(ids)) if starts]
    parts = []
    first = 0
    while len(ids) - first > limit:
        remaining = len(ids) - first
        wanted = first + math.ceil(remaining / math.ceil(remaining / limit))
        # A cut must leave no more than the limit behind it, and move on by at least half of it.
        allowed = [place for place in word_starts if first + limit // 2 < place <= first + limit]
        last = min(allowed, key=lambda place: abs(place - wanted), default=wanted)
        parts.append(list(ids[first:last]))
        first = last
    return [*parts, list(ids[first:])]
