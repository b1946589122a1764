"""What people watch: one line a report on stderr and in log.txt, and a bar on a terminal."""

from __future__ import annotations

import contextlib
import resource
import sys
import time
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Self

import torch
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from nmt_cli.errors import MachineError, NmtError
from nmt_cli.files import visible, writing_to


class RunLog:
    """Lines for people: to log.txt with the time, and to stderr unless quiet."""

    def __init__(self, path: Path, *, quiet: bool) -> None:
        """Append to the log at `path`."""
        self._path = path
        with writing_to(path):
            self._stream = path.open("a", encoding="utf-8", errors="backslashreplace", buffering=1)
        self._console = None if quiet else Console(stderr=True, soft_wrap=True, highlight=False, markup=False)
        self._bar: Progress | None = None

    def __enter__(self) -> Self:
        """Give the log for a `with` block."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Take the bar from the terminal, note why training ends, where it is told elsewhere, and close the file."""
        if self._bar is not None:
            self._bar.stop()
        if isinstance(error, NmtError):
            with contextlib.suppress(MachineError):  # a full disk has been told of already
                self._write(visible(str(error)))
        with writing_to(self._path):
            self._stream.close()

    def line(self, text: str) -> None:
        """Write one line.

        Raises:
            MachineError: the disk refuses. That nobody reads stderr any more is no reason to end a training.
        """
        shown = visible(text)
        self._write(shown)
        if self._console is None:
            return
        if self._bar is not None:
            self._bar.console.print(shown)
            return
        with contextlib.suppress(OSError, AttributeError):  # a closed standard error is None
            sys.stderr.buffer.write(shown.encode("utf-8", errors="replace") + b"\n")
            sys.stderr.buffer.flush()

    def _write(self, shown: str) -> None:
        with writing_to(self._path):
            self._stream.write(f"{datetime.now().astimezone().isoformat(timespec='seconds')} {shown}\n")

    def step(self, step: int, max_steps: int, note: str) -> None:
        """Move the bar, where there is a terminal to show it on."""
        if self._console is None or not self._console.is_terminal:
            return
        if self._bar is None:
            columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"), TimeRemainingColumn())
            self._bar = Progress(*columns, console=self._console)
            self._bar.start()
            self._bar.add_task(note, total=max_steps, completed=step)
        self._bar.update(self._bar.task_ids[0], completed=step, total=max_steps, description=note)


class Meter:
    """Loss and speed since the last report; of the whole update, whatever number of processes shared it."""

    def __init__(self) -> None:
        """Start counting now."""
        self.reset()

    def reset(self) -> None:
        """Start counting anew."""
        self.plain = self.smoothed = 0.0
        self.loss_tokens = 0
        """Target tokens behind the two losses, which skipped updates have no part in."""
        self.source_tokens = self.target_tokens = self.positions = self.updates = self.model_flops = 0
        self.started = time.perf_counter()

    def leave_out_since(self, moment: float) -> None:
        """Do not count the time since a moment: validation and saving are no training."""
        self.started += time.perf_counter() - moment

    @property
    def seconds(self) -> float:
        """Time since the start of counting."""
        return time.perf_counter() - self.started


def peak_memory(device: torch.device, status: Path = Path("/proc/self/status")) -> int:
    """Return the most bytes that this process has held so far: of the GPU, or, on a CPU, resident.

    Linux keeps the resident peak of a process apart; elsewhere that of `getrusage` may be its parent's.
    """
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    with contextlib.suppress(OSError):
        for line in status.read_text(encoding="utf-8").splitlines():
            name, _, value = line.partition(":")
            if name == "VmHWM":
                return int(value.split()[0]) * 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def duration(seconds: float) -> str:
    """Return a time for people: 45 s, 12 min, 3 h 20 min."""
    if seconds < 100:  # noqa: PLR2004 - shown in seconds while two digits are enough
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"  # noqa: PLR2004
