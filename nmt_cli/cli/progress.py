"""How far `nmt translate` is: a bar on a terminal, a plain line now and then elsewhere, all on stderr."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Self

from nmt_cli.cli.output import announce

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

    from nmt_cli.decoding.streaming import Blocks, Tally

SECONDS_BETWEEN_REMARKS = 15
SECONDS_BEFORE_BAR = 1


class Progress:
    """Remarks while the work goes on, and at its end; a context that takes the bar away."""

    def __init__(self, blocks: Blocks, *, quiet: bool) -> None:
        """Start the clock, and say on a terminal what is waited for."""
        self._quiet, self._size = quiet, blocks.size
        self._start = self._last = time.monotonic()
        self._first: tuple[int, int] | None = None
        self._bar: Bar | None = None
        # A bar among questions or answers on the same screen would only disturb.
        self._wants_bar = (
            not quiet and not blocks.is_terminal and _is_terminal(sys.stderr) and not _is_terminal(sys.stdout)
        )
        if blocks.is_terminal and not quiet:
            announce("reading from the terminal, a sentence a line; Ctrl-D ends it")

    def __enter__(self) -> Self:
        """Do nothing yet: what is done in a second needs no bar."""
        return self

    def __exit__(self, *_: object) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def show(self, tally: Tally) -> None:
        """Show new warnings, and now and then how far the work is."""
        warnings, tally.warnings = tally.warnings, []
        if self._quiet:
            return
        for warning in warnings:
            announce(warning)
        now = time.monotonic()
        if self._first is None:  # work that goes on has lines from before; starting up is no work
            self._first = (tally.lines, tally.input_bytes)
            self._start = self._last = now
            return
        if self._wants_bar and now - self._start >= SECONDS_BEFORE_BAR:
            self._move_bar(tally, now)
        elif not self._wants_bar and now - self._last >= SECONDS_BETWEEN_REMARKS:
            announce(self.remark(tally, now - self._start))
            self._last = now

    def remark(self, tally: Tally, seconds: float) -> str:
        """Return how far the work is, `seconds` after its first chunk."""
        lines, n_bytes = self._first or (0, 0)
        said = f"{tally.lines:,} lines, {(tally.lines - lines) / seconds:,.0f} a second"
        if self._size and tally.input_bytes > n_bytes:
            left = (self._size - tally.input_bytes) * seconds / (tally.input_bytes - n_bytes)
            said += f", {100 * tally.input_bytes / self._size:.0f} % of the input, {_duration(left)} left"
        return said

    def end(self, tally: Tally, *, limit: int) -> None:
        """Sum up what went wrong."""
        self.__exit__()
        for line in tally.summary(limit=limit) if not self._quiet else []:
            announce(line)

    def _move_bar(self, tally: Tally, now: float) -> None:
        if self._bar is None:
            from rich.console import Console
            from rich.progress import BarColumn, TextColumn
            from rich.progress import Progress as Bar

            columns = [BarColumn(), TextColumn("{task.description}")]
            self._bar = Bar(*columns, console=Console(stderr=True), transient=True)
            self._bar.add_task("", total=self._size)
            self._bar.start()
        said = self.remark(tally, now - self._start)
        self._bar.update(self._bar.task_ids[0], description=said, completed=tally.input_bytes)


def _is_terminal(stream: object) -> bool:
    return bool(stream is not None and getattr(stream, "isatty", lambda: False)())


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(max(seconds, 0)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
