"""What counts as a loop, and what is only repetition."""

from __future__ import annotations

import pytest

from nmt_cli.decoding.loops import is_loop, most_repeats

PLAIN = list(range(100, 110))


@pytest.mark.parametrize(
    "output",
    [
        [1, 2, 3, *[7] * 12],
        [1, 2, 3, *[7, 8] * 6],
        [*[7, 8, 9, 10] * 4],
        [1, *[7, 8, 9] * 5, 7],
        [1, *[7, 8] * 9, 99],
        [1, *[7, 8] * 9, 98, 99],
        [*range(200, 230)] * 4,
    ],
)
def test_an_end_that_repeats_itself_is_a_loop(output: list[int]) -> None:
    assert is_loop(output, PLAIN)


@pytest.mark.parametrize(
    "output",
    [
        [],
        [5],
        PLAIN * 3,
        [3, 3, 3],
        [*[3] * 5, 99],
        [1, 2, *[7, 8, 9] * 3],
        [*[7, 8] * 9, 1, 2, 3],
    ],
    ids=["nothing", "a piece", "a refrain", "ha ha ha", "ha ha ha ha ha!", "three times", "not at the end"],
)
def test_what_repeats_a_little_or_elsewhere_is_none(output: list[int]) -> None:
    assert not is_loop(output, PLAIN)


def test_what_the_source_repeats_as_well_is_no_loop() -> None:
    laugh = [1, *[7] * 20]
    assert is_loop(laugh, PLAIN)
    assert not is_loop(laugh, [2, *[50, 51] * 10, 3])
    assert is_loop(laugh, [2, *[50, 51] * 9, 3])


def test_repeats_are_counted_by_hand() -> None:
    assert [most_repeats(ids) for ids in ([], [1], [1, 2], [1, 1], [1, 2, 1, 2, 1], [9, 1, 2, 1, 2, 1, 2, 8])] == [
        *(0, 1, 1, 2, 2, 3)
    ]
