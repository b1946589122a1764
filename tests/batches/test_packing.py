"""Packed batches against one written by hand and against the sentences themselves."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nmt_cli.batches.corpus import EncodedCorpus, EncodedSide
from nmt_cli.batches.packing import pack
from nmt_cli.batches.padding import pad_batch

SENTENCES = st.lists(st.lists(st.integers(1, 60_000), min_size=1, max_size=9), min_size=1, max_size=7)


def test_a_packed_batch_is_that_worked_out_by_hand(corpus_of: Callable[..., EncodedCorpus]) -> None:
    corpus = corpus_of([[5, 6, 1], [7, 1], [1]], [[8, 1], [9, 10, 11, 1], [1]])
    batch = pack(pad_batch(corpus, np.array([1, 2, 0])))
    assert batch.source.ids.tolist() == [7, 1, 1, 5, 6, 1]
    assert batch.source.places.tolist() == [0, 1, 0, 0, 1, 2]
    assert batch.source.starts.tolist() == [0, 2, 3, 6]
    assert batch.target_in.ids.tolist() == [0, 9, 10, 11, 0, 0, 8]
    assert batch.target_in.places.tolist() == [0, 1, 2, 3, 0, 0, 1]
    assert batch.target_in.starts.tolist() == [0, 4, 5, 7]
    assert batch.target_out.tolist() == [9, 10, 11, 1, 1, 8, 1]
    assert (batch.source.longest, batch.target_in.longest) == (3, 4)
    assert batch.source.starts.dtype == batch.target_in.starts.dtype == np.int32
    assert {row.dtype for row in (batch.source.ids, batch.source.places, batch.target_out)} == {np.dtype(np.int64)}


def as_side(sentences: list[list[int]]) -> EncodedSide:
    return EncodedSide(
        np.array(list(itertools.chain(*sentences)), dtype=np.uint16), np.cumsum([0, *map(len, sentences)])
    )


@given(SENTENCES, st.randoms(use_true_random=False))
def test_cutting_the_row_at_its_starts_gives_the_sentences_back(
    sentences: list[list[int]], chance: random.Random
) -> None:
    targets = [chance.choices(range(1, 99), k=chance.randint(1, 9)) for _ in sentences]
    batch = pack(pad_batch(EncodedCorpus(as_side(sentences), as_side(targets)), np.arange(len(sentences))))
    for ids, side, expected in (
        (batch.source.ids, batch.source, sentences),
        (batch.target_out, batch.target_in, targets),
        (batch.target_in.ids, batch.target_in, [[0, *target[:-1]] for target in targets]),
    ):
        assert [part.tolist() for part in np.split(ids, side.starts[1:-1])] == expected
        assert side.places.tolist() == [place for one in expected for place in range(len(one))]
        assert side.longest == max(map(len, expected))
