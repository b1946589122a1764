"""Start-up: the wall time of whole commands that translate one line, in turns."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import processes


@dataclass(frozen=True)
class Start:
    """A command, run once."""

    command: str
    seconds: float
    """By the clock, from the start of the command to its end."""
    cpu_seconds: float
    others_share: float
    """Of all cores, used by other processes meanwhile."""
    answer: str


def start_ups(commands: Mapping[str, Sequence[str]], lines: Mapping[str, str], *, times: int) -> list[Start]:
    """Return what each command took, A B A B, after a run of each that fills the page cache and is left out."""
    seen = []
    for number in range(times + 1):
        for name, command in commands.items():
            start = once(name, command, lines[name])
            if number > 0:
                seen.append(start)
    return seen


def once(name: str, command: Sequence[str], line: str) -> Start:
    """Run a command with a line on its standard input."""
    environment = {variable: value for variable, value in os.environ.items() if variable != "NMT_MODEL"}
    busy, own, began = processes.busy_seconds(), _cpu_of_children(), time.monotonic()
    done = subprocess.run(
        command, input=f"{line}\n", capture_output=True, encoding="utf-8", env=environment, check=False
    )
    seconds = time.monotonic() - began
    busy, own = processes.busy_seconds() - busy, _cpu_of_children() - own
    if done.returncode != 0:
        sys.exit(f"{name} ended with code {done.returncode}:\n{done.stderr.strip()}")
    return Start(
        command=name,
        seconds=seconds,
        cpu_seconds=own,
        others_share=max(busy - own, 0.0) / seconds / (os.cpu_count() or 1),
        answer=done.stdout.rstrip("\n"),
    )


def _cpu_of_children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
