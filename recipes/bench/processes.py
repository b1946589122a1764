"""What Linux tells in /proc of a group of processes, and of the machine around it."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import NamedTuple

PROC = Path("/proc")
TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")


class ProcessTimes(NamedTuple):
    """What /proc/PID/stat says of one process."""

    group: int
    cpu_seconds: float
    """Of itself and of its children that have ended."""


def members(group: int) -> list[int]:
    """Return the processes of a group, in the order in which they were started."""
    return sorted(pid for pid, times in _all_times().items() if times.group == group)


def cpu_seconds(group: int) -> float:
    """Return the CPU time of the processes of a group so far."""
    return sum(times.cpu_seconds for times in _all_times().values() if times.group == group)


def busy_seconds() -> float:
    """Return the time that all CPUs have been busy since the machine was started, stolen time among it."""
    names, ticks = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal"), [0] * 8
    for line in (PROC / "stat").read_text(encoding="ascii").splitlines():
        if line.startswith("cpu "):
            ticks = [int(word) for word in line.split()[1:9]]
    idle = {"idle", "iowait"}
    return sum(n for name, n in zip(names, ticks, strict=True) if name not in idle) / TICKS_A_SECOND


def memory_bytes(pid: int, field: str) -> int:
    """Return VmRSS (resident now) or VmHWM (its peak) of a process; 0 when it has gone."""
    with contextlib.suppress(OSError):
        for line in (PROC / str(pid) / "status").read_text(encoding="utf-8", errors="replace").splitlines():
            name, _, value = line.partition(":")
            if name == field:
                return int(value.split()[0]) * 1024
    return 0


def machine() -> str:
    """Return the processor's name and the number of its cores that this process may use."""
    name = "unknown processor"
    for line in (PROC / "cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
        if line.startswith("model name"):
            name = line.partition(":")[2].strip()
            break
    return f"{name}, {len(os.sched_getaffinity(0))} cores"


def _all_times() -> dict[int, ProcessTimes]:
    found = {}
    for folder in PROC.iterdir():
        if folder.name.isdigit():
            with contextlib.suppress(OSError):
                found[int(folder.name)] = times_of((folder / "stat").read_text(encoding="utf-8", errors="replace"))
    return found


def times_of(stat: str) -> ProcessTimes:
    """Return what a line of /proc/PID/stat says; the name in it may hold spaces and parentheses."""
    fields = stat.rpartition(")")[2].split()
    return ProcessTimes(int(fields[2]), sum(map(int, fields[11:15])) / TICKS_A_SECOND)
