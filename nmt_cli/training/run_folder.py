"""The run folder: its checkpoints, the links `last` and `best`, and the lock that keeps a second run out.

config.toml log.txt metrics.jsonl
checkpoints/step-00001500/     a model folder, plus training/ in the newest two
last best                      links
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import math
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nmt_cli.errors import MachineError, ModelError, UsageError
from nmt_cli.files import atomic_file, read_json, real_path, sync_directory, writing_to
from nmt_cli.model_folder import MANIFEST

STATE = "training"
N_STATES_KEPT = 2
CHECKPOINT_NAME = re.compile(r"step-(\d{8,})")
REGULAR = frozenset({"turn", "end"})
"""Why a checkpoint was written that counts towards those kept and those averaged."""


class RunFolder:
    """Paths of a run and what is done to them."""

    def __init__(self, path: Path) -> None:
        """Name a run; nothing is touched."""
        self.path = path
        self.config = path / "config.toml"
        self.log = path / "log.txt"
        self.metrics = path / "metrics.jsonl"
        self.checkpoints = path / "checkpoints"

    def create(self) -> None:
        """Make the folders.

        Raises:
            UsageError: the place is taken by something else, or may not be written.
        """
        with writing_to(self.path):
            if self.path.is_dir() and not self.config.exists() and any(map(_is_foreign, self.path.iterdir())):
                raise UsageError(f"{self.path}: exists and is no run; name another place with --run")
            self.path.mkdir(parents=True, exist_ok=True)
        with writing_to(self.checkpoints):
            self.checkpoints.mkdir(exist_ok=True)
            for step, folder in self._folders():
                if not folder.is_dir():
                    raise UsageError(f"{folder}: is no folder, where a checkpoint of step {step:,} goes; move it away")

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the run for this process.

        Raises:
            UsageError: another process trains here.
            MachineError: the disk knows no locks.
        """
        with writing_to(self.path):
            stream = (self.path / ".lock").open("w")
        with stream:
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise UsageError(
                    f"{self.path}: another process trains in this run; wait or name another --run"
                ) from None
            except OSError as error:
                raise MachineError(
                    f"{self.path}: cannot be locked ({error.strerror}); name a --run on another disk"
                ) from None
            yield

    def checkpoint(self, step: int) -> Path:
        """Return the folder of a step."""
        return self.checkpoints / f"step-{step:08d}"

    def steps(self) -> list[int]:
        """Return the steps that have a complete checkpoint, in order."""
        return sorted(step for step, folder in self._folders() if (folder / MANIFEST).is_file())

    @property
    def last_good(self) -> str:
        """Name the newest checkpoint, for somebody whose training came to nothing."""
        steps = self.steps()
        return f"the last good checkpoint is {self.checkpoint(steps[-1])}" if steps else "there is no checkpoint yet"

    def _folders(self) -> list[tuple[int, Path]]:
        """Return the checkpoints, complete or not, with their steps; what a person put beside them is not ours."""
        matches = [(CHECKPOINT_NAME.fullmatch(path.name), path) for path in self.checkpoints.iterdir()]
        return [(int(match[1]), path) for match, path in matches if match]

    def regular_steps(self) -> list[int]:
        """Return the steps whose checkpoint was written at its turn or at the end of training.

        Raises:
            ModelError: a checkpoint does not say.
        """
        return [step for step in self.steps() if self._reason(step) in REGULAR]

    def _reason(self, step: int) -> object:
        provenance = read_json(self.checkpoint(step) / MANIFEST, error=ModelError).get("provenance")
        return provenance.get("reason") if isinstance(provenance, dict) else None

    def _is_kept_in_turn(self, step: int) -> bool:
        """Tell whether a checkpoint is regular; one that is damaged counts, since nothing says that it is not."""
        try:
            return self._reason(step) in REGULAR
        except ModelError:
            return True

    def link(self, name: str, step: int) -> None:
        """Point `last` or `best` at a step, by rename."""
        temporary = self.path / f".{name}.new"
        with writing_to(self.path / name):
            temporary.unlink(missing_ok=True)
            temporary.symlink_to(self.checkpoint(step).relative_to(self.path))
            temporary.replace(self.path / name)
            sync_directory(self.path)

    def unlink(self, name: str) -> None:
        """Take `last` or `best` away, if it is there."""
        with writing_to(self.path / name):
            (self.path / name).unlink(missing_ok=True)

    def prune(self, *, keep: int, best: int | None) -> None:
        """Remove checkpoints but the newest regular ones, the best and the last; old training states too."""
        steps = self.steps()
        regular = [step for step in steps if self._is_kept_in_turn(step)]
        kept = {*regular[-keep:], *steps[-1:], best}
        for step in steps:
            if step not in kept:
                self._remove(self.checkpoint(step))
        for step in [step for step in steps if step in kept][:-N_STATES_KEPT]:
            self._remove(self.checkpoint(step) / STATE)
        with writing_to(self.checkpoints):
            for leftover in self.checkpoints.glob(".step-*"):
                shutil.rmtree(leftover)

    def remove_after(self, step: int) -> None:
        """Remove the checkpoints of later steps, whole or not, which a run that goes on from here writes anew."""
        for later, folder in self._folders():
            if later > step:
                self._remove(folder)

    def _remove(self, folder: Path) -> None:
        """Remove a folder of `checkpoints`; what a kill leaves of it is hidden there, for `prune` to sweep."""
        if folder.exists():
            hidden = self.checkpoints / f".{'-'.join(folder.relative_to(self.checkpoints).parts)}.old"
            with writing_to(folder):
                shutil.rmtree(hidden, ignore_errors=True)
                folder.rename(hidden)
                shutil.rmtree(hidden)

    def append_metrics(self, record: dict[str, object]) -> None:
        """Add one line to metrics.jsonl; JSON has no number that is not finite, so that it becomes null."""
        finite = {name: None if _is_not_finite(value) else value for name, value in record.items()}
        with writing_to(self.metrics), self.metrics.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(finite, allow_nan=False) + "\n")

    def records(self, kind: str) -> list[dict[str, Any]]:
        """Return the lines of a kind in metrics.jsonl, in order; none where the file cannot be read."""
        try:
            lines = self.metrics.read_bytes().split(b"\n")
        except OSError:
            return []
        return [record for record in map(_record_of, lines) if record is not None and record.get("kind") == kind]

    def forget_metrics_after(self, step: int) -> None:
        """Drop the lines of steps that a continued run will do again, and those that are no records of ours.

        Raises:
            UsageError: there is something else in the place of the file.
        """
        with writing_to(self.metrics):
            if not self.metrics.exists():
                return
            if not self.metrics.is_file():
                raise UsageError(f"{self.metrics}: is no file; move it away")
            lines = self.metrics.read_bytes().split(b"\n")
        with atomic_file(real_path(self.metrics)) as stream:
            stream.writelines(line + b"\n" for line in lines if _step_of(line) <= step)


def _step_of(line: bytes) -> float:
    """Return the step of a line of metrics.jsonl; of any other, one that never comes."""
    record = _record_of(line)
    return math.inf if record is None else record["step"]


def _record_of(line: bytes) -> dict[str, Any] | None:
    """Return a line of metrics.jsonl, with its step; None: it is no such thing."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) and isinstance(record.get("step"), int) else None


def _is_not_finite(value: object) -> bool:
    return isinstance(value, float) and not math.isfinite(value)


def _is_foreign(path: Path) -> bool:
    """Tell what is not ours from what a run that was killed before it wrote its settings leaves behind."""
    return path.name not in {"checkpoints", ".lock", "log.txt"} and not path.name.startswith(".config.toml.")
