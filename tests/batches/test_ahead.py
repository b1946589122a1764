"""What is made ahead comes in its order, with its errors, and no further than allowed."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from nmt_cli.batches.ahead import made_ahead


def test_the_items_come_in_order() -> None:
    assert list(made_ahead(iter(range(100)), most=3)) == list(range(100))
    assert list(made_ahead(iter([]), most=3)) == []


def test_an_error_comes_in_its_turn() -> None:
    def items() -> Iterator[int]:
        yield 1
        yield 2
        raise ValueError("third")

    ahead = made_ahead(items(), most=5)
    assert [next(ahead), next(ahead)] == [1, 2]
    with pytest.raises(ValueError, match="third"):
        next(ahead)


def test_so_many_are_made_before_they_are_asked_for_and_by_another_thread() -> None:
    made, threads = [], set()

    def items() -> Iterator[int]:
        for number in range(100):
            made.append(number)
            threads.add(threading.current_thread())
            yield number

    ahead = made_ahead(items(), most=4)
    assert next(ahead) == 0
    deadline = time.monotonic() + 30
    while len(made) < 5 and time.monotonic() < deadline:
        time.sleep(0.01)
    assert len(made) == 5  # the one that was taken, and four more
    ahead.close()  # type: ignore[attr-defined]
    assert threads.isdisjoint({threading.main_thread()})
