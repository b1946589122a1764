"""Saving checkpoints: at once, or by another thread while a GPU goes on."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Self

from nmt_cli.training.checkpoint import take_snapshot, write_snapshot
from nmt_cli.training.run_folder import RunFolder
from nmt_cli.training.state import Progress
from nmt_cli.training.trained import Trained


class Saver:
    """Writes the checkpoints of a run, one after the other.

    With a GPU the state is copied to the CPU and written while training goes on. A CPU would only lose
    to one task what it wins for the other.
    """

    def __init__(self, run: RunFolder, trained: Trained, *, in_background: bool | None = None) -> None:
        """Save what is being trained into a run."""
        self._run, self._trained = run, trained
        is_on_gpu = trained.model.output.weight.is_cuda
        self._in_background = is_on_gpu if in_background is None else in_background
        self._threads = ThreadPoolExecutor(max_workers=1, thread_name_prefix="save")
        self._under_way: Future[None] | None = None

    def __enter__(self) -> Self:
        """Give the saver for a `with` block."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Finish what is being written; of two errors the first goes on."""
        self._threads.shutdown(wait=True)
        if error is None:
            self.finish()

    def save(self, progress: Progress, *, reason: str) -> None:
        """Save the state as it stands; the one before is finished first.

        Raises:
            MachineError, DataError, DivergedError: this checkpoint, or the one before, cannot be written.
        """
        self.finish()
        snapshot = take_snapshot(self._trained, progress, reason=reason, copied=self._in_background)
        if self._in_background:
            self._under_way = self._threads.submit(write_snapshot, self._run, self._trained, snapshot)
        else:
            write_snapshot(self._run, self._trained, snapshot)

    def has_saved(self, step: int) -> bool:
        """Tell whether there is a checkpoint of a step.

        Raises:
            MachineError, DataError, DivergedError: it could not be written.
        """
        self.finish()
        return step in self._run.steps()

    def finish(self) -> None:
        """Wait for what is being written.

        Raises:
            MachineError, DataError, DivergedError: it could not be written.
        """
        if self._under_way is not None:
            under_way, self._under_way = self._under_way, None
            under_way.result()
