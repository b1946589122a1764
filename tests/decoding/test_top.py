"""The largest of many, where some are equal."""

from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st

from nmt_cli.decoding.top import pick, top


@given(
    st.lists(st.lists(st.sampled_from([-2.0, -1.0, 0.0, float("-inf")]), min_size=9, max_size=9), min_size=1),
    st.integers(1, 12),
)
def test_of_equals_the_lower_index_comes_first(rows: list[list[float]], n: int) -> None:
    values, indices = top(torch.tensor(rows), n)
    for row, found, places in zip(rows, values.tolist(), indices.tolist(), strict=True):
        expected = sorted(range(9), key=lambda i: (-row[i], i))[:n]
        real = [i for i in expected if row[i] > float("-inf")]
        assert found == [row[i] for i in expected]
        assert places[: len(real)] == real


def test_pick_takes_whole_entries_row_by_row() -> None:
    values = torch.arange(12).view(2, 3, 2)
    assert pick(values, torch.tensor([[2, 0], [1, 1]])).tolist() == [[[4, 5], [0, 1]], [[8, 9], [8, 9]]]
