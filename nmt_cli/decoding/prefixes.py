"""What translations are to begin with: a file beside the input, a line for each of its lines."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator
from pathlib import Path

from nmt_cli.errors import DataError
from nmt_cli.files import open_for_reading, read_records


class Prefixes:
    """The lines of such a file, taken in order."""

    def __init__(self, path: Path, lines: Iterator[str]) -> None:
        """Begin at the first."""
        self._path, self._lines = path, lines
        self._taken = 0

    def take(self, n: int, *, before: int, name: str) -> list[str]:
        """Return those of `n` lines of the input called `name`, which come after `before` others.

        Raises:
            DataError: there are not so many.
        """
        skipped = before - self._taken
        lines = list(itertools.islice(self._lines, skipped, skipped + n))
        if len(lines) < n:
            raise DataError(
                f"{self._path}: fewer lines than {name}, which has at least {before + n:,}; "
                "give a line, empty or not, for each of the input"
            )
        self._taken = before + n
        return lines

    def refuse_more(self, n: int, name: str) -> None:
        """Check that there are `n` in all.

        Raises:
            DataError: there are more.
        """
        rest = sum(1 for _ in self._lines)
        if self._taken + rest > n:
            raise DataError(f"{self._path}: {self._taken + rest:,} lines, but {name}: {n:,}; they must be parallel")


@contextlib.contextmanager
def open_prefixes(path: Path | None) -> Iterator[Prefixes | None]:
    """Open the file, if there is one.

    Raises:
        DataError: it cannot be read, or holds bytes that are not UTF-8.
    """
    if path is None:
        yield None
        return
    with open_for_reading(path) as stream:
        yield Prefixes(path, _texts(path, iter(read_records(stream))))


def _texts(path: Path, records: Iterator[tuple[str, int | None]]) -> Iterator[str]:
    for number, (text, bad_column) in enumerate(records, start=1):
        if bad_column is not None:
            raise DataError(f"{path}:{number}:{bad_column}: not UTF-8; convert the file first")
        yield text
