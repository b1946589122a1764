"""`nmt prepare`."""

from __future__ import annotations


def prepare() -> None:
    """Not there yet."""
    raise NotImplementedError
