"""The line contract and safe writing: every command reads and writes through here.

A record ends at LF only. CRLF is read as LF; a lone CR, U+2028, U+0085, VT, FF and their like are
text. Text is UTF-8 whatever the locale. A folder or file appears under its name only when complete.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import shutil
import stat
import tempfile
import unicodedata
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

from nmt_cli.errors import DataError, MachineError, NmtError, UsageError
from nmt_cli.packed import open_for_reading as open_for_reading  # noqa: PLC0414 - all that reads comes through here

BYTE_ORDER_MARK = "\ufeff"
NO_SUCH_NAME = frozenset({errno.ENAMETOOLONG, errno.ELOOP})
DISK_REFUSES = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS})
BIDI_CONTROLS = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


class Record(NamedTuple):
    """One line of a file, without its end."""

    text: str
    bad_column: int | None
    """Column, in bytes from 1, of the first byte that is not UTF-8; such bytes read as U+FFFD."""


def read_records(stream: BinaryIO) -> Iterator[Record]:
    """Yield the records of a byte stream, each as soon as it has arrived."""
    for raw in stream:
        line = raw.removesuffix(b"\n").removesuffix(b"\r") if raw.endswith(b"\n") else raw
        try:
            text, bad_column = line.decode("utf-8"), None
        except UnicodeDecodeError as error:
            text, bad_column = line.decode("utf-8", errors="replace"), error.start + 1
        yield Record(text.removeprefix(BYTE_ORDER_MARK), bad_column)


def read_lines(path: Path) -> list[str]:
    """Return the lines of a file, strictly.

    Raises:
        DataError: unreadable, or a byte that is not UTF-8 (with line and column).
    """
    lines = []
    with open_for_reading(path) as stream:
        for number, record in enumerate(read_records(stream), start=1):
            if record.bad_column is not None:
                raise DataError(f"{path}:{number}:{record.bad_column}: not UTF-8; convert the file first")
            lines.append(record.text)
    return lines


def as_line(text: str) -> str:
    """Return the text as it may stand in an output line: LF, CR and TAB become spaces."""
    return text.replace("\n", " ").replace("\r", " ").replace("\t", " ")


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write one line a text, UTF-8 and LF, complete or not at all."""
    with atomic_file(path) as stream:
        stream.writelines(as_line(line).encode("utf-8") + b"\n" for line in lines)


def visible(text: str) -> str:
    """Return the text with control and bidirectional characters escaped, for logs and reports."""
    return "".join(
        character.encode("unicode_escape").decode("ascii")
        if unicodedata.category(character) in {"Cc", "Cs", "Zl", "Zp"} or character in BIDI_CONTROLS
        else character
        for character in text
    )


def sha256_of_file(path: Path) -> str:
    """Return the SHA-256 of a file's bytes, in hexadecimal."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def require_folder(path: Path, *, wanted: str, error: type[NmtError]) -> None:
    """Check that a path names a folder that can be read; `wanted` says which kind it should be.

    Raises:
        NmtError: of the kind `error`, when it does not.
    """
    try:
        is_folder = stat.S_ISDIR(path.stat().st_mode)
        if is_folder and not os.access(path, os.R_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except FileNotFoundError:
        raise error(f"{path}: no such folder; {wanted} is expected") from None
    except OSError as problem:
        raise error(f"{path}: cannot be read ({problem.strerror})") from None
    if not is_folder:
        raise error(f"{path}: a file; {wanted} is expected")


def real_path(path: Path) -> Path:
    """Return the path with links followed; a loop of links, unlike with `resolve`, is no error."""
    return Path(os.path.realpath(path))


def sha256_of_json(value: object) -> str:
    """Return the SHA-256 of a JSON value in its canonical form (sorted keys, no spaces)."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def read_json(path: Path, *, error: type[NmtError] = DataError) -> dict[str, object]:
    """Return the JSON object in a file.

    Raises:
        NmtError: of the kind `error`, when the file cannot be read or holds anything else.
    """
    try:
        value = json.loads(path.read_bytes())
    except OSError as problem:
        raise error(f"{path}: cannot be read ({problem.strerror})") from None
    except (ValueError, RecursionError) as problem:
        raise error(f"{path}: not valid JSON ({problem})") from None
    if not isinstance(value, dict):
        raise error(f"{path}: a JSON object is expected, found {type(value).__name__}")
    return value


def write_json(path: Path, value: object) -> None:
    """Write a JSON value for people and programs, complete or not at all."""
    with atomic_file(path) as stream:
        stream.write(json_bytes(value))


def json_bytes(value: object) -> bytes:
    """Return a JSON value as `write_json` writes it."""
    return json.dumps(value, indent=1, ensure_ascii=False).encode("utf-8") + b"\n"


@contextlib.contextmanager
def atomic_file(path: Path) -> Iterator[BinaryIO]:
    """Give a stream whose bytes become `path` when the block succeeds, and vanish when it fails."""
    with writing_to(path):
        descriptor, name = tempfile.mkstemp(prefix=_hidden(path.name), dir=path.parent)
    try:
        with _filling(path), os.fdopen(descriptor, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        with writing_to(path):
            Path(name).chmod(0o666 & ~_umask())
            Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    sync_directory(path.parent)


@contextlib.contextmanager
def new_directory(target: Path, *, manifest: str, kind: str, force: bool = False) -> Iterator[Path]:
    """Give an empty hidden folder that becomes `target` when the block succeeds.

    `manifest` is the JSON file that such a folder holds, with its `kind` in it. An existing target is
    replaced, by rename, only with `force` and only when it is such a folder.

    Raises:
        UsageError: the target exists and may not be replaced.
        MachineError: the disk refuses.
    """
    refuse_existing(target, manifest=manifest, kind=kind, force=force)
    with writing_to(target):
        made = [folder for folder in target.parents if not folder.exists()]
        target.parent.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(prefix=_hidden(target.name), dir=target.parent))
    try:
        with _filling(target):
            yield scratch
        with writing_to(target):
            scratch.chmod(0o777 & ~_umask())
            sync_tree(scratch)
            _swap(scratch, target)
    except BaseException:
        shutil.rmtree(scratch, ignore_errors=True)
        with contextlib.suppress(OSError):
            for folder in made:
                folder.rmdir()
        raise
    sync_directory(target.parent)


def refuse_existing(target: Path, *, manifest: str, kind: str, force: bool) -> None:
    """Check, before any work is done, that `new_directory` may write this target.

    Raises:
        UsageError: the target exists and may not be replaced.
    """
    with writing_to(target):
        if not target.exists() and not target.is_symlink():
            return
        if target.is_dir() and not any(target.iterdir()):
            return
    if not (target / manifest).is_file() or read_json(target / manifest, error=UsageError).get("kind") != kind:
        raise UsageError(f"{target}: exists and is no complete {kind} folder; name another place or remove it")
    if not force:
        raise UsageError(f"{target}: exists; give --force to replace it, or name another place")


def _swap(scratch: Path, target: Path) -> None:
    if not target.exists():
        scratch.rename(target)
        return
    old = Path(tempfile.mkdtemp(prefix=f"{_hidden(target.name)}old.", dir=target.parent))
    moved = old / target.name
    try:
        target.rename(moved)
        scratch.rename(target)
    except BaseException:
        if moved.exists():
            moved.rename(target)
        old.rmdir()
        raise
    shutil.rmtree(old, ignore_errors=True)


@contextlib.contextmanager
def writing_to(target: Path) -> Iterator[None]:
    """Turn what the operating system says against writing into one line that names the target.

    Raises:
        UsageError: no permission, or a file where a folder is needed.
        MachineError: anything else, a full disk above all.
    """
    try:
        yield
    except (PermissionError, NotADirectoryError, IsADirectoryError, FileExistsError, FileNotFoundError) as error:
        raise UsageError(f"{target}: cannot be written ({error.strerror or error})") from None
    except OSError as error:
        kind = UsageError if error.errno in NO_SUCH_NAME else MachineError
        raise kind(f"{target}: cannot be written ({error.strerror or error})") from None


@contextlib.contextmanager
def _filling(target: Path) -> Iterator[None]:
    """Around the caller's own block, take only what a disk says; the rest is the caller's, or a defect."""
    try:
        yield
    except OSError as error:
        # numpy tells of a short write by an error without a number.
        if error.errno in DISK_REFUSES or (type(error) is OSError and error.errno is None):
            raise MachineError(f"{target}: cannot be written ({error.strerror or error})") from None
        raise


def sync_tree(folder: Path) -> None:
    """Bring every file and folder below `folder`, and itself, to the disk."""
    for parent, _, names in os.walk(folder):
        for name in names:
            with (Path(parent) / name).open("rb") as stream:
                os.fsync(stream.fileno())
        sync_directory(Path(parent))


def sync_directory(folder: Path) -> None:
    """Bring a folder's list of names to the disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _hidden(name: str) -> str:
    # A name has room for 255 bytes, and more comes after this.
    return f".{name.encode('utf-8', errors='ignore')[:200].decode('utf-8', errors='ignore')}."


def _umask() -> int:
    with contextlib.suppress(OSError, StopIteration):  # Linux tells without a moment in which all may write all
        status = Path("/proc/self/status").read_text(encoding="utf-8", errors="replace").splitlines()
        return int(next(line.split()[1] for line in status if line.startswith("Umask:")), 8)
    mask = os.umask(0)
    os.umask(mask)
    return mask
