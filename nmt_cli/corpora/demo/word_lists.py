"""Lists of words written as one text, the shortest form in which a person can read and change them."""

from __future__ import annotations


def listed(text: str) -> tuple[str, ...]:
    """The words of a text."""
    return tuple(text.split())
