"""`nmt average`."""

from __future__ import annotations


def average() -> None:
    """Not there yet."""
    raise NotImplementedError
