"""`nmt bpe`."""

from __future__ import annotations


def bpe() -> None:
    """Not there yet."""
    raise NotImplementedError
