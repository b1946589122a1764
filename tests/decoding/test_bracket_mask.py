"""The mask against every string there is."""

from __future__ import annotations

import itertools

import pytest

from nmt_cli.decoding.bracket_mask import BracketState, Kind, allowed
from nmt_cli.errors import DataError
from nmt_cli.trees.linear import parse_linear

TEXTS = ["(A", "(B", ")A", ")B", "XX"]
TOKENS: list[tuple[Kind, str]] = [("open", "A"), ("open", "B"), ("close", "A"), ("close", "B"), ("word", "")]


def is_tree(texts: tuple[str, ...], n_words: int) -> bool:
    """Judge by the strict reader: one root that is a constituent, none without words."""
    try:
        tree = parse_linear(" ".join(texts), ["w"] * n_words, ["T"] * n_words)
    except DataError:
        return False
    empty = any(kind == "open" and not node.children for kind, node in tree.events())
    return len(tree.children) == 1 and tree.children[0].word is None and not empty


def masked(n_words: int, limit: int) -> tuple[set[tuple[str, ...]], bool]:
    """Return every string that the mask lets through, and whether it ever led into a dead end."""
    found, dead = set[tuple[str, ...]](), False
    waiting: list[tuple[tuple[str, ...], BracketState]] = [((), BracketState(n_words, limit))]
    while waiting:
        texts, state = waiting.pop()
        may_end = state.allows("end")
        going = [place for place, good in enumerate(allowed(state, TOKENS)) if good]
        dead |= not going and not may_end
        if may_end:
            found.add(texts)
        waiting.extend(((*texts, TEXTS[place]), state.after(*TOKENS[place])) for place in going)
    return found, dead


@pytest.mark.parametrize(("n_words", "limit"), [(1, 6), (2, 6), (3, 5), (3, 6)])
def test_the_mask_lets_through_exactly_the_trees_within_the_limit(n_words: int, limit: int) -> None:
    strings = itertools.chain.from_iterable(itertools.product(TEXTS, repeat=length) for length in range(limit + 1))
    assert masked(n_words, limit) == ({texts for texts in strings if is_tree(texts, n_words)}, False)
