"""An output that grows beside a journal, so that work that was stopped goes on where it was.

Beside OUT lies the hidden folder `.OUT.nmt`: `output`, what has been written, and `journal.json`, how much
of it counts, for how much of which input, by which model and search. The journal is replaced by rename after
the output is on the disk, so that at any instant it tells the truth; what lies beyond is cut off.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from nmt_cli.decoding.streaming import Blocks, Tally
from nmt_cli.errors import DataError, UsageError
from nmt_cli.files import read_json, sync_directory, visible, writing_to
from nmt_cli.sealed import is_sealed, write_sealed

SECONDS_BETWEEN_SAVES = 1.0
COUNTED = ("lines", "not_utf8", "first_not_utf8", "over_limit", "cut", "first_cut", "loops", "first_loops")


class Journal:
    """An output file in the making."""

    def __init__(self, target: Path, terms: Mapping[str, object]) -> None:
        """Name the file to become, and what decides its bytes but the input."""
        self.target, self._terms = target, dict(terms)
        self.folder = journal_folder(target)
        self._output_path, self._state_path = self.folder / "output", self.folder / "journal.json"
        self._output = -1
        self._bytes = 0
        self._saved_at = 0.0
        self.saved_lines = 0

    def open(self) -> dict[str, Any]:
        """Open the output at the end of what counts, and return the saved state: empty at a beginning.

        Raises:
            UsageError: begun on other terms, or another process is at it.
        """
        state: dict[str, Any] = read_json(self._state_path) if self._state_path.exists() else {}
        if state and not is_sealed(self._state_path, state):
            raise DataError(f"{self._state_path}: damaged or edited; remove {self.folder} to start anew")
        refuse_other_terms(self.folder, state.get("terms", self._terms), self._terms)
        with writing_to(self.target):
            self.folder.mkdir(exist_ok=True)
            self._output = _locked(self._output_path)
            self._bytes = int(state.get("output_bytes", 0))
            if os.fstat(self._output).st_size < self._bytes:
                raise DataError(f"{self._output_path}: shorter than its journal says; remove {self.folder}")
            os.ftruncate(self._output, self._bytes)
            os.lseek(self._output, 0, os.SEEK_END)
        self.saved_lines = int(state.get("lines", 0))
        return state

    def write(self, data: bytes, tally: Tally) -> None:
        """Append to the output, and save now and then."""
        with writing_to(self.target):
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(self._output, rest) :]
        self._bytes += len(data)
        if time.monotonic() - self._saved_at >= SECONDS_BETWEEN_SAVES:
            self.save(tally)

    def save(self, tally: Tally) -> None:
        """Bring all to the disk, and then say so in the journal."""
        with writing_to(self.target):
            os.fsync(self._output)
            state = {name: getattr(tally, name) for name in COUNTED}
            # A name of a file may hold what is not UTF-8; shown it is the same.
            state["first_not_utf8"] = visible(tally.first_not_utf8)
            state |= {"input_bytes": tally.input_bytes, "input_sha256": tally.input_digest.hexdigest()}
            write_sealed(self._state_path, {"terms": self._terms, "output_bytes": self._bytes, **state})
        self._saved_at = time.monotonic()
        self.saved_lines = tally.lines

    def finish(self) -> None:
        """Give the output its name, and take the journal away."""
        with writing_to(self.target):
            os.fsync(self._output)
            self._output_path.replace(self.target)
            sync_directory(self.target.parent)
        self.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def close(self) -> None:
        """Let go of the output."""
        if self._output >= 0:
            os.close(self._output)
            self._output = -1

    def give_up(self) -> None:
        """Close, and leave nothing where nothing had been saved."""
        if self._output < 0:  # it is another's
            return
        self.close()
        if not self.saved_lines:
            shutil.rmtree(self.folder, ignore_errors=True)


@contextlib.contextmanager
def journaled(
    target: Path, terms: Mapping[str, object], blocks: Blocks, tally: Tally
) -> Iterator[tuple[Journal, Blocks]]:
    """Give the journal of an output, at the place where it stood, and what is left of the input.

    When the block succeeds the file appears under its name; when it fails what was saved stays.

    Raises:
        UsageError: begun on other terms.
        DataError: begun with another input.
    """
    journal = Journal(target, terms)
    try:
        state = journal.open()
        yield journal, rest_of_input(state, blocks, tally, journal=journal.folder) if state else blocks
    except BaseException:
        journal.give_up()
        raise
    journal.finish()


def rest_of_input(state: Mapping[str, Any], blocks: Blocks, tally: Tally, *, journal: Path) -> Blocks:
    """Return the input after what is done of it, and set the tally to what it was then.

    Raises:
        DataError: what is done is not what the input begins with.
    """
    wanted = int(state["input_bytes"])
    digest = hashlib.sha256()
    n_read, rest = 0, b""
    while n_read < wanted and (block := blocks.read()):
        done = block[: wanted - n_read]
        rest = block[len(done) :]
        digest.update(done)
        n_read += len(done)
    if digest.hexdigest() != state["input_sha256"]:
        raise DataError(
            f"{blocks.name}: the first {n_read:,} bytes have sha256 {digest.hexdigest()[:12]}…, but the {wanted:,} "
            f"that {journal} was begun with {state['input_sha256'][:12]}…; give the same input, or remove the folder"
        )
    for name in COUNTED:
        setattr(tally, name, state[name])
    tally.input_bytes, tally.input_digest = wanted, digest
    kept = [rest] if rest else []
    return blocks._replace(read=lambda: kept.pop() if kept else blocks.read())


def journal_folder(target: Path) -> Path:
    """Return where the journal of an output lies."""
    return target.with_name(f".{target.name}.nmt")


def begin(target: Path, *, going_on: bool) -> None:
    """Look for work on this output that was left off, before any is done.

    Raises:
        UsageError: there is some, and it is not to go on.
    """
    folder = journal_folder(target)
    if not (folder / "output").exists():  # it has its name already, or was being removed
        shutil.rmtree(folder, ignore_errors=True)
    elif not going_on and (folder / "journal.json").exists():
        raise UsageError(f"{target}: was left unfinished; give --continue to go on, or remove {folder} to start anew")


def refuse_other_terms(folder: Path, begun: Mapping[str, object], now: Mapping[str, object]) -> None:
    """Check that a journal was begun on the same terms.

    Raises:
        UsageError: it was not; each difference with both values.
    """
    names = [name for name in {**begun, **now} if begun.get(name) != now.get(name)]
    if names:
        differences = "; ".join(f"{name} was {begun.get(name)}, now {now.get(name)}" for name in names)
        raise UsageError(f"{folder}: {differences}; give the same, or remove the folder to start anew")


def _locked(path: Path) -> int:
    """Open a file for as long as no other process does, where the system knows how."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    with contextlib.suppress(ImportError):  # Windows
        import fcntl

        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            raise UsageError(f"{path.parent}: another process is writing there; wait for it or end it") from None
    return descriptor
