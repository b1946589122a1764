"""Opening a file to read: plain, .gz, .bz2, .xz or .zst by its name; what is wrong with it in one line.

Errors are turned into lines where the file itself is read, so that nothing else that goes wrong
while it is open is blamed on it.
"""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import itertools
import lzma
import zlib
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from nmt_cli.errors import DataError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

CHUNK_BYTES = 1 << 16
OPENERS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}


@contextlib.contextmanager
def open_for_reading(path: Path) -> Iterator[BinaryIO]:
    """Open a file as bytes, unpacking .gz, .bz2, .xz and .zst by its name.

    Raises:
        DataError: missing, a folder, unreadable, or not of the format that its name says; also later,
            from reading.
    """
    with contextlib.suppress(OSError):  # what is wrong with the name is said when it is opened
        if path.is_dir():
            raise DataError(f"{path}: is a folder; a file is expected")
    with contextlib.closing(_chunks(path)) as chunks:
        first = next(chunks, b"")
        yield cast("BinaryIO", io.BufferedReader(_ChunkReader(itertools.chain([first], chunks))))


def _chunks(path: Path) -> Generator[bytes]:
    try:
        yield from _unpacked(path)
    except FileNotFoundError:
        raise DataError(f"{path}: no such file") from None
    except (lzma.LZMAError, zlib.error, gzip.BadGzipFile, EOFError) as error:
        raise DataError(f"{path}: damaged or not of the format that its name says ({error})") from None
    except OSError as error:
        # bz2 tells of damage by an OSError without a number.
        said = "cannot be read" if error.errno else "damaged or not of the format that its name says"
        raise DataError(f"{path}: {said} ({error.strerror or error})") from None


def _unpacked(path: Path) -> Iterator[bytes]:
    opener = OPENERS.get(path.suffix, Path.open)
    with cast("io.BufferedReader", opener(path, "rb")) as stream:
        plain = iter(lambda: stream.read1(CHUNK_BYTES), b"")
        yield from _zst_frames(plain) if path.suffix == ".zst" else plain


def _zst_frames(packed: Iterator[bytes]) -> Iterator[bytes]:
    # zstandard's own stream reader takes a file that was cut off for a whole one.
    import zstandard

    frame = None
    for chunk in packed:
        rest = chunk
        while rest:
            frame = frame or zstandard.ZstdDecompressor().decompressobj()
            try:
                yield frame.decompress(rest)
            except zstandard.ZstdError as error:
                raise EOFError(str(error)) from None
            rest, frame = (frame.unused_data, None) if frame.eof else (b"", frame)
    if frame is not None:
        raise EOFError("it ends in the middle of a frame")


class _ChunkReader(io.RawIOBase):
    """Chunks of bytes, of any size, as a stream."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        while not self._rest:
            chunk = next(self._chunks, None)
            if chunk is None:
                return 0
            self._rest = memoryview(chunk)
        target = memoryview(buffer)
        size = min(len(target), len(self._rest))
        target[:size], self._rest = self._rest[:size], self._rest[size:]
        return size
