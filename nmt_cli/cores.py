"""How many cores this process may use."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

CONTROL_GROUP = Path("/sys/fs/cgroup/cpu.max")


def cores_to_use() -> int:
    """Return the cores that this process may use: its affinity, and its control group's share of time."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    with contextlib.suppress(OSError, ValueError):
        quota, period = CONTROL_GROUP.read_text(encoding="ascii").split()
        if quota != "max":
            cores = min(cores, max(int(quota) // int(period), 1))
    return cores
