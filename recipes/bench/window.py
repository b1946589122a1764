"""One window: a training started, let warm up, watched for a while, and ended.

Whoever trains writes RUN/metrics.jsonl as `nmt train` does: a line a report, with the seconds since the first
update and the tokens a second since the report before it.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import processes
from figures import rate_between

Record = dict[str, float]
RATES = ("source_tokens_per_second", "target_tokens_per_second")
POLL_SECONDS = 0.1
PATIENCE_SECONDS = 1_800.0
"""The longest that a report may take to come."""
DISTURBED = 0.05
"""Share of the cores used by others above which a window is called disturbed."""


@dataclass(frozen=True)
class Contender:
    """Something that trains."""

    name: str
    command: Sequence[str]
    """`--run RUN` is added."""
    environment: Mapping[str, str]


@dataclass(frozen=True)
class WarmUp:
    """What is left out at the beginning: so many updates at least, and so many seconds."""

    updates: int
    seconds: float = 0.0


@dataclass(frozen=True)
class Window:
    """What was seen of a contender."""

    contender: str
    tokens_per_second: float
    """Source and target, real tokens, by the contender's own clock."""
    source_tokens_per_second: float
    target_tokens_per_second: float
    updates: int
    seconds: float
    """By the contender's clock, from its first report after the warm-up to its last."""
    wall_seconds: float
    """The same by ours; it sees a report up to a tenth of a second late."""
    peak_bytes: list[int]
    """Largest resident memory of each process since its start."""
    others_share: float
    """Of all cores, used by other processes meanwhile."""

    @property
    def peak_mb(self) -> float:
        """Largest resident memory of the largest process, in 10^6 bytes."""
        return max(self.peak_bytes) / 1e6

    @property
    def seconds_per_update(self) -> float:
        """Mean over the window."""
        return self.seconds / self.updates


class Training:
    """A contender that is training, in a group of processes of its own."""

    def __init__(self, contender: Contender, run: Path) -> None:
        """Start it in a new run folder; `end` it in any case."""
        shutil.rmtree(run, ignore_errors=True)
        run.parent.mkdir(parents=True, exist_ok=True)
        self.contender, self.metrics = contender, run / "metrics.jsonl"
        self._output = run.with_name(f"{run.name}.output")
        with self._output.open("wb") as output:
            self._process = subprocess.Popen(
                [*contender.command, "--run", str(run)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env={**os.environ, **contender.environment},
            )
        self.group = self._process.pid

    def records(self) -> list[Record]:
        """Return the reports so far."""
        return training_records(self.metrics)

    def check_alive(self) -> None:
        """Leave with what it said last if it has ended."""
        code = self._process.poll()
        if code is not None:
            said = self._output.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-20:]
            sys.exit("\n".join([f"{self.contender.name} ended with code {code}:", *said]))

    def wait_for_report(self, *, updates: int = 0, seconds: float = 0.0) -> Record:
        """Return the first report after so many updates and so many seconds, as soon as it is there."""
        begun = time.monotonic()
        n_before = -1
        while True:
            records = self.records()
            for record in records:
                if record["step"] >= updates and record["seconds"] >= seconds:
                    return record
            self.check_alive()
            if len(records) != n_before:
                n_before, begun = len(records), time.monotonic()
            if time.monotonic() - begun > PATIENCE_SECONDS:
                sys.exit(f"{self.contender.name}: no report in {PATIENCE_SECONDS / 60:.0f} minutes")
            time.sleep(POLL_SECONDS)

    def end(self) -> None:
        """Kill the group: nothing that it would save is wanted."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.group, signal.SIGKILL)
        self._process.wait()


def training_records(metrics: Path) -> list[Record]:
    """Return the reports of a training that are complete on the disk."""
    if not metrics.exists():
        return []
    complete = metrics.read_text(encoding="utf-8").split("\n")[:-1]
    records = [json.loads(line) for line in complete]
    return [record for record in records if record["kind"] == "training"]


def measure(contender: Contender, run: Path, *, warm_up: WarmUp, seconds: float) -> Window:
    """Train until a window of so many seconds after the warm-up is over; leave no run behind."""
    training = Training(contender, run)
    try:
        first = training.wait_for_report(updates=warm_up.updates, seconds=warm_up.seconds)
        busy, own, began = processes.busy_seconds(), processes.cpu_seconds(training.group), time.monotonic()
        last = training.wait_for_report(updates=int(first["step"]) + 1, seconds=first["seconds"] + seconds)
        wall = time.monotonic() - began
        busy, own = processes.busy_seconds() - busy, processes.cpu_seconds(training.group) - own
        peaks = [processes.memory_bytes(pid, "VmHWM") for pid in processes.members(training.group)]
        records = [record for record in training.records() if first["step"] <= record["step"] <= last["step"]]
    finally:
        training.end()
    shutil.rmtree(run, ignore_errors=True)
    window = Window(
        contender=contender.name,
        tokens_per_second=rate_between(records, RATES),
        source_tokens_per_second=rate_between(records, RATES[:1]),
        target_tokens_per_second=rate_between(records, RATES[1:]),
        updates=int(last["step"] - first["step"]),
        seconds=last["seconds"] - first["seconds"],
        wall_seconds=wall,
        peak_bytes=peaks,
        others_share=max(busy - own, 0.0) / wall / (os.cpu_count() or 1),
    )
    tell(window)
    return window


def tell(window: Window) -> None:
    """Say what a window saw, and whether it was disturbed."""
    print(
        f"  {window.contender}: {window.tokens_per_second:,.0f} tokens/s over {window.updates} updates in "
        f"{window.seconds:.0f} s, {window.peak_mb:,.0f} MB in the largest of {len(window.peak_bytes)} processes",
        file=sys.stderr,
    )
    if window.others_share > DISTURBED:
        share = f"{window.others_share:.0%}"
        print(f"  warning: other processes used {share} of the cores in this window", file=sys.stderr)


def end_with_children() -> None:
    """Let SIGTERM end this process as Ctrl-C does, by way of every `finally`, so that no training is left behind."""
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))


def tell_round(number: int, rounds: int) -> None:
    """Say that a round begins, and how busy the machine is."""
    print(f"round {number} of {rounds}, load average {os.getloadavg()[0]:.2f}", file=sys.stderr)
