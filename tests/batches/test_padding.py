"""Padded batches against one written by hand."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from nmt_cli.batches.corpus import EncodedCorpus
from nmt_cli.batches.padding import pad_batch


def test_a_batch_is_padded_and_its_target_shifted_as_by_hand(corpus_of: Callable[..., EncodedCorpus]) -> None:
    corpus = corpus_of([[5, 6, 1], [7, 1], [1]], [[8, 1], [9, 10, 11, 1], [12, 1]])
    batch = pad_batch(corpus, np.array([1, 0]))
    assert batch.source.tolist() == [[7, 1, 0], [5, 6, 1]]
    assert batch.target_out.tolist() == [[9, 10, 11, 1], [8, 1, 0, 0]]
    assert batch.target_in.tolist() == [[0, 9, 10, 11], [0, 8, 0, 0]]
    assert batch.target_tokens == 6
    assert {matrix.dtype for matrix in (batch.source, batch.target_in, batch.target_out)} == {np.dtype(np.int64)}


def test_an_empty_sentence_is_its_end_symbol(corpus_of: Callable[..., EncodedCorpus]) -> None:
    batch = pad_batch(corpus_of([[1]], [[1]]), np.array([0]))
    assert (batch.source.tolist(), batch.target_in.tolist(), batch.target_out.tolist()) == ([[1]], [[0]], [[1]])
    assert batch.target_tokens == 1
