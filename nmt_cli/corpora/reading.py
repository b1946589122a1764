"""Pairs out of two aligned files or one of two columns, read once, by the line contract."""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from nmt_cli.errors import DataError
from nmt_cli.files import Record, open_for_reading, read_records

MOST_BAD_LINES = 0.01
MOST_NULS = 0.1


@dataclass(frozen=True)
class PairFiles:
    """Where pairs stand: two files aligned by line, or one with a TAB between source and target."""

    source: Path
    target: Path | None = None

    @property
    def paths(self) -> list[Path]:
        """The files, source first."""
        return [self.source] if self.target is None else [self.source, self.target]


class RawPair(NamedTuple):
    """A pair as it stands in the files."""

    source: str
    target: str
    problem: str | None
    """Why it cannot be a pair: bad_bytes or missing_column."""


class CheckedFile:
    """The records of a file, and what was odd about them."""

    def __init__(self, path: Path) -> None:
        """Nothing is read yet."""
        self.path = path
        self.sha256: str | None = None
        self.lines = 0
        self.bad_lines = 0
        self.first_bad = ""
        self._lone_returns = 0
        self._first_return = 0
        self._characters = 0
        self._nuls = 0

    def records(self) -> Generator[Record]:
        """Yield the records; the end is reached only by a file that can be used.

        Raises:
            DataError: not UTF-8 or without line ends, with the first line and column.
        """
        with contextlib.closing(self._raw_records()) as records:
            for record in records:
                self._notice(record)
                yield record
        self._judge()

    def _raw_records(self) -> Generator[Record]:
        with open_for_reading(self.path) as stream:
            yield from read_records(stream)

    def _notice(self, record: Record) -> None:
        text, bad_column = record
        self.lines += 1
        self._characters += len(text) + 1
        if bad_column is not None:
            if self.lines == 1 and text.startswith("\ufffd\ufffd") and "\x00" in text:
                raise DataError(f"{self.path}: UTF-16 (by its first bytes); convert it with: iconv -f UTF-16 -t UTF-8")
            self.bad_lines += 1
            self.first_bad = self.first_bad or f"{self.path}:{self.lines}:{bad_column}"
        if "\x00" in text:
            self._nuls += text.count("\x00")
        if "\r" in text and (returns := text.rstrip("\r").count("\r")):
            self._lone_returns += returns
            self._first_return = self._first_return or self.lines

    def _judge(self) -> None:
        if self._nuls > MOST_NULS * self._characters:
            raise DataError(
                f"{self.path}: {self._nuls:,} of {self._characters:,} characters are NUL, as in UTF-16; "
                "convert it to UTF-8 first"
            )
        if self.bad_lines > MOST_BAD_LINES * self.lines:
            raise DataError(
                f"{self.first_bad}: not UTF-8, and so are {self.bad_lines:,} of {self.lines:,} lines in all; "
                "convert the file first, as in: iconv -f WINDOWS-1252 -t UTF-8"
            )
        if self._lone_returns >= max(self.lines, 1):
            raise DataError(
                f"{self.path}:{self._first_return}: lines end in CR alone ({self._lone_returns:,} CR, {self.lines:,} "
                r"lines by LF); convert it with: tr '\r' '\n'"
            )

    def warnings(self) -> list[str]:
        """Return what a person should know about a file that can be used."""
        found = []
        if self.bad_lines:
            found.append(f"{self.first_bad}: not UTF-8; lines of this kind in the file: {self.bad_lines:,}")
        if self._lone_returns:
            found.append(
                f"{self.path}:{self._first_return}: CR inside the line, read as a space; "
                f"in the file: {self._lone_returns:,}"
            )
        return found


def read_pairs(files: list[CheckedFile]) -> Iterator[RawPair]:
    """Yield the pairs of two files, or of one with two columns.

    Raises:
        DataError: a file cannot be used, or the two have not the same number of lines.
    """
    if len(files) == 1:
        yield from _pairs_of_columns(files[0])
        return
    source, target = files
    with contextlib.closing(source.records()) as sources, contextlib.closing(target.records()) as targets:
        for left, right in zip(sources, targets, strict=False):
            bad = left.bad_column is not None or right.bad_column is not None
            yield RawPair(left.text, right.text, "bad_bytes" if bad else None)
        for _ in sources:
            pass
        for _ in targets:
            pass
    if source.lines != target.lines:
        raise DataError(
            f"{source.path}: {source.lines:,} lines, but {target.path}: {target.lines:,}; they must be parallel"
        )


def _pairs_of_columns(file: CheckedFile) -> Iterator[RawPair]:
    n_pairs = 0
    with contextlib.closing(file.records()) as records:
        for text, bad_column in records:
            source, tab, rest = text.partition("\t")
            problem = None if tab else "missing_column"
            n_pairs += problem is None
            yield RawPair(source, rest.partition("\t")[0], "bad_bytes" if bad_column is not None else problem)
    if file.lines and not n_pairs:
        raise DataError(
            f"{file.path}: none of {file.lines:,} lines has two columns with a TAB between; "
            "give the second file with --target"
        )
