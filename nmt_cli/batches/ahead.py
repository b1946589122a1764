"""Making things before they are needed."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")


def made_ahead(items: Iterator[Item], *, most: int) -> Iterator[Item]:
    """Yield the items of an iterator, up to `most` of which another thread makes before they are asked for.

    What the iterator raises is raised here, in its turn. No item may be None.
    """
    thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="ahead")
    try:
        ready = deque(thread.submit(next, items, None) for _ in range(most))
        while (item := ready.popleft().result()) is not None:
            ready.append(thread.submit(next, items, None))
            yield item
    finally:
        thread.shutdown(cancel_futures=True)
