"""Sequences of like length go together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence


def batches_by_length(lengths: Sequence[int], *, batch_tokens: int, max_sentences: int) -> Iterator[list[int]]:
    """Yield the places of sequences of like length, longest first, padded size at most `batch_tokens`.

    A sequence that is longer by itself makes a batch of its own.
    """
    order = sorted(range(len(lengths)), key=lambda place: (-lengths[place], place))
    first = 0
    while first < len(order):
        fitting = min(batch_tokens // max(lengths[order[first]], 1), max_sentences)
        last = first + max(fitting, 1)
        yield order[first:last]
        first = last
