"""Archives of the catalogue on this machine: fetched once, kept by content, checked at every use.

CACHE/archives/SHA256/FILE        what was fetched, under the digest of its bytes
CACHE/archives/pins/KEY.json      digest of a file whose makers publish none, from its first download
CACHE/archives/parts/KEY.part     what is still coming; KEY.lock is held by who fetches it
"""

from __future__ import annotations

import contextlib
import hashlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from nmt_cli.corpora.entries import Archive, Copy
from nmt_cli.corpora.transfer import CutOffError, NotThereError, Patience, transfer
from nmt_cli.errors import DataError, MachineError
from nmt_cli.files import read_json, sha256_of_file, write_json, writing_to

Tell = Callable[[str], None]


def fetch(archive: Archive, cache: Path, *, tell: Tell, patience: Patience | None = None) -> tuple[Path, str]:
    """Return the file of an archive, with its SHA-256: out of the cache if it is there, else from the network.

    Raises:
        MachineError: it could not be fetched.
        DataError: what came is not what was published.
    """
    store = cache / "archives"
    with writing_to(store):
        for folder in ("pins", "parts"):
            (store / folder).mkdir(parents=True, exist_ok=True)
    with _held(store / "parts" / f"{_key(archive)}.lock", archive.file, tell):
        if found := in_cache(archive, cache, tell=tell):
            return found
        said = list[str]()
        for copy in archive.copies:
            for url in copy.urls:
                if found := _from_address(url, archive.file, copy, store, tell, patience or Patience(), said):
                    return found
    raise MachineError(
        f"{archive.file}: cannot be fetched: {'; '.join(said)}; try again (what has come is kept), or get it "
        "elsewhere, put it into a folder and name that with --from"
    )


def in_cache(archive: Archive, cache: Path, *, tell: Tell) -> tuple[Path, str] | None:
    """Return the file and its SHA-256 where it is in the cache and whole; one that is damaged is removed."""
    store = cache / "archives"
    for copy in archive.copies:
        digest = copy.sha256 or _pinned(store, copy)
        path = store / (digest or "unknown") / archive.file
        if digest is None or not path.is_file():
            continue
        if sha256_of_file(path) == digest:
            return path, digest
        tell(f"warning: {path}: damaged (its digest has changed); it is removed")
        path.unlink()
    return None


def check(path: Path, copies: list[Copy]) -> str:
    """Return the SHA-256 of a file that a person has brought.

    Raises:
        DataError: it is none of the published copies.
    """
    sha256 = sha256_of_file(path)
    problems = [problem for copy in copies if (problem := _problem(path, sha256, copy))]
    if len(problems) == len(copies):
        raise DataError(f"{path}: {problems[0]}; it is damaged or another file")
    return sha256


def _problem(path: Path, sha256: str, copy: Copy) -> str | None:
    n_bytes = path.stat().st_size
    if copy.bytes is not None and n_bytes != copy.bytes:
        return f"is {n_bytes:,} bytes long, but {copy.bytes:,} were published"
    if copy.sha256 is not None and sha256 != copy.sha256:
        return f"its SHA-256 is {sha256}, but {copy.sha256} was published"
    if copy.md5 is not None and (md5 := _md5(path)) != copy.md5:
        return f"its MD5 is {md5}, but {copy.md5} was published"
    return None


def _from_address(
    url: str, name: str, copy: Copy, store: Path, tell: Tell, patience: Patience, said: list[str]
) -> tuple[Path, str] | None:
    """Return the file from one address, or nothing, and what was wrong is added to `said`."""
    part = store / "parts" / f"{_digest(url)}.part"
    pauses = list(patience.pauses_s)
    while True:
        tell(f"{name}: fetching {url}" + (f" ({copy.bytes:,} bytes)" if copy.bytes else ""))
        try:
            resumed = transfer(url, part, copy, timeout_s=patience.timeout_s)
            sha256 = _whole(part, url, copy, resumed=resumed)
        except NotThereError as error:
            said.append(f"{url}: {error}")
            return None
        except CutOffError as error:
            if not pauses:
                said.append(f"{url}: {error}")
                return None
            tell(f"{name}: {error}; asked again in {pauses[0]:g} s")
            time.sleep(pauses.pop(0))
        except DataError:
            part.unlink(missing_ok=True)
            raise
        else:
            return _keep(part, url, name, copy, store, sha256), sha256


def _whole(part: Path, url: str, copy: Copy, *, resumed: bool) -> str:
    """Return the SHA-256 of a file that has come, or remove it where it is not what was published."""
    sha256 = sha256_of_file(part)
    problem = _problem(part, sha256, copy)
    if problem is None:
        return sha256
    part.unlink()
    if resumed:
        raise CutOffError(f"what came in pieces does not fit together ({problem})")
    raise DataError(f"{url}: {problem}; it is damaged or another file, and nothing of it is kept")


def _keep(part: Path, url: str, name: str, copy: Copy, store: Path, sha256: str) -> Path:
    """Bring a whole file under its digest, which is kept too where nobody publishes it.

    Raises:
        DataError: it is another file than came from here the first time.
    """
    if copy.sha256 is None:
        pinned = _pinned(store, copy)
        if pinned not in {None, sha256}:
            part.unlink()
            raise DataError(
                f"{url}: its SHA-256 is {sha256}, but was {pinned} when it was first fetched; remove "
                f"{_pin(store, copy)} to take the new file"
            )
        write_json(_pin(store, copy), {"url": url, "sha256": sha256})
    place = store / sha256 / name
    with writing_to(place):
        place.parent.mkdir(exist_ok=True)
        part.replace(place)
        part.with_name(f"{part.name}.json").unlink(missing_ok=True)
    return place


def _pinned(store: Path, copy: Copy) -> str | None:
    pin = _pin(store, copy)
    if not pin.is_file():
        return None
    digest = read_json(pin).get("sha256")
    return digest if isinstance(digest, str) else None


def _pin(store: Path, copy: Copy) -> Path:
    return store / "pins" / f"{_digest(copy.urls[0])}.json"


def _key(archive: Archive) -> str:
    return archive.sha256 or _digest(archive.urls[0])


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _md5(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()


@contextlib.contextmanager
def _held(lock: Path, name: str, tell: Tell) -> Iterator[None]:
    """Hold a lock file, so that of two processes one fetches and the other finds what it has fetched."""
    import fcntl

    with writing_to(lock):
        stream = lock.open("ab")
    with stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            tell(f"{name}: another nmt fetches it; waiting")
            fcntl.flock(stream, fcntl.LOCK_EX)
        yield
