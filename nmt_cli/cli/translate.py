"""`nmt translate`."""

from __future__ import annotations


def translate() -> None:
    """Not there yet."""
    raise NotImplementedError
