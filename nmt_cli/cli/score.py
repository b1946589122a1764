"""`nmt score`."""

from __future__ import annotations


def score() -> None:
    """Not there yet."""
    raise NotImplementedError
