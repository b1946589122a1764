"""Given translations of a file, scored by a model: for filtering data and for choosing among hypotheses."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from nmt_cli.decoding.translation import GivenScore, TooLongError
from nmt_cli.decoding.translator import Translator
from nmt_cli.errors import DataError
from nmt_cli.files import open_for_reading, read_records

CHUNK_LINES = 4_096
"""Pairs scored together at most, so that those of like length meet and memory stays flat."""


def scores_of_files(
    translator: Translator, source: Path, target: BinaryIO, *, target_name: str
) -> Iterator[list[GivenScore]]:
    """Yield the scores of the lines of `target` as translations of those of `source`, in order, a chunk at a time.

    Raises:
        DataError: unequal numbers of lines, a byte that is not UTF-8, or a line that the model cannot take.
    """
    with open_for_reading(source) as stream:
        sources, targets = _lines(stream, str(source)), _lines(target, target_name)
        before = 0
        while True:
            some_sources = list(itertools.islice(sources, CHUNK_LINES))
            some_targets = list(itertools.islice(targets, CHUNK_LINES))
            if len(some_sources) != len(some_targets):
                counts = [
                    before + len(some) + sum(1 for _ in rest)
                    for some, rest in ((some_sources, sources), (some_targets, targets))
                ]
                raise DataError(
                    f"{target_name}: {counts[1]:,} lines, but {source}: {counts[0]:,}; they must be parallel"
                )
            if not some_sources:
                return
            try:
                yield translator.score(some_sources, some_targets)
            except TooLongError as error:
                name = source if error.side == "source" else target_name
                raise DataError(f"{name}:{before + error.place + 1}: {error}; leave the pair out") from None
            before += len(some_sources)


def _lines(stream: BinaryIO, name: str) -> Iterator[str]:
    for number, record in enumerate(read_records(stream), start=1):
        if record.bad_column is not None:
            raise DataError(f"{name}:{number}:{record.bad_column}: not UTF-8; convert the text first")
        yield record.text
