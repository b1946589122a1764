"""How many cores this process may use."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

CONTROL_GROUPS = Path("/sys/fs/cgroup")
OWN_GROUPS = Path("/proc/self/cgroup")


def cores_to_use() -> int:
    """Return the cores that this process may use: its affinity, and its control groups' least share of time."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min([cores, *(max(share, 1) for share in _shares())])


def _shares() -> Iterator[int]:
    """Yield the whole cores of each quota that binds this process, of whichever version of control groups."""
    for mount, own in _own_groups():
        for part in (own, *own.parents):
            group = mount / part.relative_to("/")
            with contextlib.suppress(OSError, ValueError, ZeroDivisionError):  # "max", no such file
                quota, period = _read(group / "cpu.max").split()
                yield int(quota) // int(period)
            with contextlib.suppress(OSError, ValueError, ZeroDivisionError):
                quota = _read(group / "cpu.cfs_quota_us")
                if int(quota) > 0:  # -1: none
                    yield int(quota) // int(_read(group / "cpu.cfs_period_us"))


def _own_groups() -> Iterator[tuple[Path, Path]]:
    """Yield where a hierarchy with quotas is mounted, and the place of this process in it; always version 2's root."""
    yield CONTROL_GROUPS, Path("/")
    with contextlib.suppress(OSError, ValueError):
        for line in _read(OWN_GROUPS).splitlines():
            _, controllers, own = line.split(":", 2)
            place = Path(os.path.normpath(f"/{own.lstrip('/')}"))  # above a namespace's root it begins with ..
            if controllers == "":
                yield CONTROL_GROUPS, place
            elif "cpu" in controllers.split(","):
                yield CONTROL_GROUPS / controllers, place
                yield CONTROL_GROUPS / "cpu", place


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")
