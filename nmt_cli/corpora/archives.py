"""Texts read out of archives by their names alone: nothing is ever unpacked to a place that an archive names.

A member is read as a stream, to its end, and the archive with it where only its end tells of damage.
Links, devices and whatever else is no plain file are refused, and so is what grows out of proportion.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

from nmt_cli.errors import DataError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

LARGEST_RATIO = 100
"""Text shrinks to a fifth, at most to a thirtieth where it repeats; zeros shrink to a thousandth."""
ALWAYS_ALLOWED = 16 * 2**20
LARGEST_BYTES = 2**36
CHUNK_BYTES = 2**16
TAR = (".tar", ".tgz", ".tar.gz")
DAMAGE = (tarfile.TarError, zipfile.BadZipFile, zlib.error, gzip.BadGzipFile, EOFError, NotImplementedError)


class Limited(io.RawIOBase):
    """A stream that ends in an error once it has given more bytes than an archive of its size can hold."""

    def __init__(self, stream: BinaryIO, *, packed_bytes: int, name: str) -> None:
        """Allow what is always allowed, or a hundred times the packed size."""
        self._stream = stream
        self._limit = min(max(ALWAYS_ALLOWED, LARGEST_RATIO * packed_bytes), LARGEST_BYTES)
        self._name = name
        self._given = 0
        self._packed_bytes = packed_bytes

    def readable(self) -> bool:
        """Say that it can be read."""
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        """Read, and count."""
        view = memoryview(buffer).cast("B")
        data = self._stream.read(min(len(view), CHUNK_BYTES))
        self._given += len(data)
        if self._given > self._limit:
            raise DataError(
                f"{self._name}: unpacks to more than {self._limit:,} bytes from {self._packed_bytes:,}; "
                "no text does, so it is not read"
            )
        view[: len(data)] = data
        return len(data)


@contextlib.contextmanager
def open_member(archive: Path, member: str | None) -> Iterator[BinaryIO]:
    """Open a text in an archive (.tar, .tgz, .tar.gz, .zip), or the file itself where no member is named.

    A text whose name ends in .gz is unpacked too.

    Raises:
        DataError: no such member, one that is no plain file, damage, or a size out of proportion; also
            later, from reading.
    """
    where = f"{archive}/{member}" if member else str(archive)
    with contextlib.ExitStack() as stack:
        with said_in_one_line(where):
            packed_bytes = archive.stat().st_size
            if not packed_bytes and (member or archive.suffix == ".gz"):
                raise DataError(f"{archive}: damaged, or not of the kind that its name says (it is empty)")
            stream = stack.enter_context(_open_packed(archive, member, packed_bytes))
            if (member or archive.name).endswith(".gz"):
                unpacked = cast("BinaryIO", stack.enter_context(gzip.GzipFile(fileobj=stream)))
                stream = _limited(unpacked, packed_bytes, where)
        yield cast("BinaryIO", io.BufferedReader(_Told(stream, where)))


@contextlib.contextmanager
def said_in_one_line(where: str) -> Iterator[None]:
    """Turn what the readers of archives say of damage into one line.

    Raises:
        DataError: what was damaged, or could not be read.
    """
    try:
        yield
    except DAMAGE as error:
        raise DataError(f"{where}: damaged, or not of the kind that its name says ({error})") from None
    except OSError as error:
        raise DataError(f"{where}: cannot be read ({error.strerror or error})") from None


class _Told(io.RawIOBase):
    """A stream whose damage is told in one line also when it is found while reading."""

    def __init__(self, stream: BinaryIO, where: str) -> None:
        self._stream = stream
        self._where = where

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        view = memoryview(buffer).cast("B")
        with said_in_one_line(self._where):
            data = self._stream.read(min(len(view), CHUNK_BYTES))
        view[: len(data)] = data
        return len(data)


@contextlib.contextmanager
def _open_packed(archive: Path, member: str | None, packed_bytes: int) -> Iterator[BinaryIO]:
    if member is None:
        with archive.open("rb") as stream:
            yield stream
    elif archive.name.endswith(TAR):
        with _tar_member(archive, member, packed_bytes) as stream:
            yield stream
    elif archive.name.endswith(".zip"):
        with _zip_member(archive, member, packed_bytes) as stream:
            yield stream
    else:
        raise DataError(f"{archive}: no archive by its name (known: {', '.join(TAR)}, .zip)")


@contextlib.contextmanager
def _tar_member(archive: Path, member: str, packed_bytes: int) -> Iterator[BinaryIO]:
    """Read through a tar file once; its end is read too, because there stands the sum of its bytes."""
    with contextlib.ExitStack() as stack:
        stream: BinaryIO = stack.enter_context(archive.open("rb"))
        if not archive.name.endswith(".tar"):
            unpacked = cast("BinaryIO", stack.enter_context(gzip.GzipFile(fileobj=stream)))
            stream = _limited(unpacked, packed_bytes, str(archive))
        # Memory stays flat: the list of members that tarfile keeps would grow with a tar of millions.
        tar = stack.enter_context(tarfile.open(fileobj=stream, mode="r|", errorlevel=2))
        yield cast("BinaryIO", io.BufferedReader(_ToTheEnd(_found(tar, archive, member), stream)))


def _found(tar: tarfile.TarFile, archive: Path, member: str) -> BinaryIO:
    for info in tar:
        tar.members = []  # type: ignore[attr-defined]
        if info.name.removeprefix("./") != member:
            continue
        found = tar.extractfile(info) if info.isfile() and not info.issparse() else None
        if found is None:
            raise DataError(f"{archive}/{member}: is no plain file there (a link, a device or a folder); not read")
        return cast("BinaryIO", found)
    raise DataError(f"{archive}: holds no {member}; is it the archive that it is named after?")


class _ToTheEnd(io.RawIOBase):
    """A member; when it ends, the rest of its archive is read and thrown away."""

    def __init__(self, member: BinaryIO, archive: BinaryIO) -> None:
        self._member = member
        self._archive = archive

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        view = memoryview(buffer).cast("B")
        data = self._member.read(min(len(view), CHUNK_BYTES))
        if not data:
            while self._archive.read(CHUNK_BYTES):
                pass
        view[: len(data)] = data
        return len(data)


@contextlib.contextmanager
def _zip_member(archive: Path, member: str, packed_bytes: int) -> Iterator[BinaryIO]:
    with zipfile.ZipFile(archive) as packed:
        found = [info for info in packed.infolist() if info.filename.removeprefix("./") == member]
        if not found:
            raise DataError(f"{archive}: holds no {member}; is it the archive that it is named after?")
        info = found[0]
        kind = stat.S_IFMT(info.external_attr >> 16)
        if info.is_dir() or kind not in {0, stat.S_IFREG} or info.flag_bits & 1:
            raise DataError(f"{archive}/{member}: is no plain file there (a link, a device, or locked); not read")
        with packed.open(info) as stream:
            yield _limited(cast("BinaryIO", stream), packed_bytes, f"{archive}/{member}")


def _limited(stream: BinaryIO, packed_bytes: int, name: str) -> BinaryIO:
    return cast("BinaryIO", io.BufferedReader(Limited(stream, packed_bytes=packed_bytes, name=name)))
