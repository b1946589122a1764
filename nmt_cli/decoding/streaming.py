"""Lines of a stream through the translator: in order, each as soon as its turn allows, in bounded memory."""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import select
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, NamedTuple

from nmt_cli.config import SearchConfig
from nmt_cli.decoding.prefixes import Prefixes
from nmt_cli.decoding.translation import Translation
from nmt_cli.decoding.translator import Translator
from nmt_cli.errors import DataError
from nmt_cli.files import Record, open_for_reading, read_records
from nmt_cli.packed import OPENERS

CHUNK_LINES = 2048
"""Lines translated together at most, so that lines of like length meet."""
BLOCK_BYTES = 1 << 16
LINES_NAMED = 5
"""Numbers of lines that a summary gives of a kind of trouble."""
STANDARD_INPUT = "standard input"


class Blocks(NamedTuple):
    """A source of bytes."""

    name: str
    read: Callable[[], bytes]
    """Return what has arrived, waiting for at least one byte; nothing at the end."""
    is_waiting: Callable[[], bool]
    """Say whether `read` would return at once."""
    is_terminal: bool = False
    size: int | None = None
    """Bytes that there are in all, where that is known."""


@contextlib.contextmanager
def open_blocks(path: Path | None) -> Iterator[Blocks]:
    """Open a file, or standard input when there is none.

    Raises:
        DataError: it cannot be read.
    """
    if path is None:
        # A closed standard input is None, whatever its type says.
        if getattr(sys, "stdin", None) is None:
            raise DataError(f"{STANDARD_INPUT}: closed; name a file")
        yield _blocks_of_descriptor(STANDARD_INPUT, sys.stdin.fileno())
    elif path.is_fifo():
        with path.open("rb", buffering=0) as pipe:
            yield _blocks_of_descriptor(str(path), pipe.fileno())
    else:
        with open_for_reading(path) as stream:
            is_packed = path.suffix in {*OPENERS, ".zst"}
            size = None if is_packed or not path.is_file() else path.stat().st_size
            yield Blocks(str(path), lambda: _read_block(stream), lambda: True, size=size)


def _read_block(stream: BinaryIO) -> bytes:
    return stream.read(BLOCK_BYTES)


def _blocks_of_descriptor(name: str, descriptor: int) -> Blocks:
    def read() -> bytes:
        try:
            return os.read(descriptor, BLOCK_BYTES)
        except OSError as error:
            raise DataError(f"{name}: cannot be read ({error.strerror})") from None

    def is_waiting() -> bool:
        try:
            return bool(select.select([descriptor], [], [], 0)[0])
        except OSError:  # Windows asks sockets only
            return False

    return Blocks(name, read, is_waiting, is_terminal=os.isatty(descriptor))


def chunks_of_bytes(blocks: Blocks, *, chunk_lines: int = CHUNK_LINES) -> Iterator[bytes]:
    """Yield whole lines in chunks: as many as wanted, or those that are there when no more input is waiting.

    The chunks of a file depend on nothing but its lines.
    """
    pending = bytearray()
    while block := blocks.read():
        pending += block
        if block.count(b"\n") == 0 and blocks.is_waiting():
            continue
        while (end := _end_of_lines(pending, chunk_lines)) is not None:
            yield bytes(pending[:end])
            del pending[:end]
        if not blocks.is_waiting() and (end := pending.rfind(b"\n") + 1):
            yield bytes(pending[:end])
            del pending[:end]
    if pending:
        yield bytes(pending)


def _end_of_lines(data: bytearray, n_lines: int) -> int | None:
    """Return the place after the n-th LF, if there are so many."""
    if data.count(b"\n") < n_lines:
        return None
    end = 0
    for _ in range(n_lines):
        end = data.index(b"\n", end) + 1
    return end


def chunks_of_records(blocks: Blocks, *, chunk_lines: int = CHUNK_LINES) -> Iterator[list[Record]]:
    """Yield the records of the chunks."""
    for chunk in chunks_of_bytes(blocks, chunk_lines=chunk_lines):
        yield list(read_records(io.BytesIO(chunk)))


@dataclass
class Tally:
    """What happened to the lines of a stream."""

    lines: int = 0
    not_utf8: int = 0
    first_not_utf8: str = ""
    over_limit: int = 0
    cut: int = 0
    first_cut: list[int] = field(default_factory=list)
    """The first few numbers of lines."""
    loops: int = 0
    first_loops: list[int] = field(default_factory=list)
    input_bytes: int = 0
    input_digest: hashlib._Hash = field(default_factory=hashlib.sha256)
    """Of the bytes read so far."""
    warnings: list[str] = field(default_factory=list)
    """Not yet shown; whoever shows them clears the list."""

    def read(self, chunk: bytes) -> None:
        """Count bytes of the input."""
        self.input_bytes += len(chunk)
        self.input_digest.update(chunk)

    def answered(self, number: int, translation: Translation) -> None:
        """Count what is odd about an output."""
        if translation.is_cut:
            self.cut += 1
            _keep_first(self.first_cut, number)
        if translation.is_loop:
            self.loops += 1
            _keep_first(self.first_loops, number)

    def summary(self, *, limit: int) -> list[str]:
        """Return a line for each kind of trouble, none when all went well."""
        lines = []
        if self.not_utf8:
            lines.append(f"{_count(self.not_utf8, 'line')} not UTF-8, first {self.first_not_utf8}; bad bytes replaced")
        if self.over_limit:
            lines.append(f"{_count(self.over_limit, 'input')} over the limit of {limit:,} tokens, translated in parts")
        if self.cut:
            where = _lines_named(self.first_cut, self.cut)
            lines.append(
                f"{_count(self.cut, 'output')} cut at the limit of length (source length + max_extra): {where}"
            )
        if self.loops:
            where = _lines_named(self.first_loops, self.loops)
            lines.append(f"{_count(self.loops, 'output')} ending in pieces repeated over and over: {where}")
        return lines


def translate_blocks(
    translator: Translator,
    blocks: Blocks,
    search: SearchConfig,
    tally: Tally,
    *,
    strict: bool = False,
    prefixes: Prefixes | None = None,
    chunk_lines: int = CHUNK_LINES,
) -> Iterator[list[Translation]]:
    """Yield the translations of a stream, a chunk at a time, one for each line.

    Raises:
        DataError: with `strict`, a line that is not UTF-8 or is over the limit of length; more or fewer
            prefixes than lines.
    """
    for chunk in chunks_of_bytes(blocks, chunk_lines=chunk_lines):
        tally.read(chunk)
        records = list(read_records(io.BytesIO(chunk)))
        _look_at_bytes(records, blocks.name, tally, strict=strict)
        lines = [record.text for record in records]
        begun = None if prefixes is None else prefixes.take(len(lines), before=tally.lines, name=blocks.name)
        if strict:
            _refuse_long(translator, lines, name=blocks.name, before=tally.lines)
        translations = translator.translate(lines, search=search, prefixes=begun, first_line=tally.lines + 1)
        for number, translation in enumerate(translations, start=tally.lines + 1):
            if translation.n_parts > 1:
                tally.over_limit += 1
                tally.warnings.append(
                    f"{blocks.name}:{number}: {translation.source_length:,} tokens, over the limit of "
                    f"{translator.max_source_length:,}; translated in {translation.n_parts} parts"
                )
            tally.answered(number, translation)
        tally.lines += len(records)
        yield translations
    if prefixes is not None:
        prefixes.refuse_more(tally.lines, blocks.name)


def _look_at_bytes(records: list[Record], name: str, tally: Tally, *, strict: bool) -> None:
    for number, record in enumerate(records, start=tally.lines + 1):
        if record.text.count("\r") > 1:
            tally.warnings.append(
                f"{name}:{number}: one line with {record.text.count(chr(13)):,} carriage returns in it; "
                "if they are to end lines, convert the text first"
            )
        if record.bad_column is None:
            continue
        place = f"{name}:{number}:{record.bad_column}"
        if strict:
            raise DataError(f"{place}: not UTF-8; convert the text first, or leave out --strict")
        tally.not_utf8 += 1
        tally.first_not_utf8 = tally.first_not_utf8 or place


def _refuse_long(translator: Translator, lines: list[str], *, name: str, before: int) -> None:
    limit = translator.max_source_length
    for number, ids in enumerate(translator.encode(lines), start=before + 1):
        if len(ids) >= limit:
            raise DataError(
                f"{name}:{number}: {len(ids) + 1:,} tokens, over the limit of {limit:,}; "
                "split the line, or leave out --strict"
            )


def _keep_first(numbers: list[int], number: int) -> None:
    if len(numbers) < LINES_NAMED:
        numbers.append(number)


def _lines_named(numbers: list[int], n: int) -> str:
    return f"line{'' if n == 1 else 's'} {', '.join(map(str, numbers))}{', …' if n > len(numbers) else ''}"


def _count(n: int, noun: str) -> str:
    return f"{n:,} {noun}{'' if n == 1 else 's'}"
