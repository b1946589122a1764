"""Starting the other ranks on this machine, and ending with them."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from nmt_cli.errors import MachineError
from nmt_cli.training.ranks import Ranks, join_ranks, leave_ranks

SECONDS_TO_FALL = 10.0
"""After a rank has died: time for this process to notice by itself, before it is ended."""
LOOPBACK = {"GLOO_SOCKET_IFNAME": "lo"} if sys.platform == "linux" else {}


def cores_to_use() -> int:
    """Return the cores that this process may use: its affinity, and its control group's share of time."""
    cores = len(os.sched_getaffinity(0))
    with contextlib.suppress(OSError, ValueError):
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text(encoding="ascii").split()
        if quota != "max":
            cores = min(cores, max(int(quota) // int(period), 1))
    return cores


@contextlib.contextmanager
def ranks_on_this_machine(n_ranks: int, *, pieces: Path, config: Path) -> Iterator[Ranks]:
    """Give rank 0 of `n_ranks`; the others are started for the block and end with it.

    Raises:
        MachineError: a rank died.
    """
    if n_ranks == 1:
        yield Ranks()
        return
    os.environ.update(LOOPBACK)
    with tempfile.TemporaryDirectory(prefix="nmt-ranks-") as name:
        folder = Path(name)
        others = [_start(rank, n_ranks, folder, pieces, config) for rank in range(1, n_ranks)]
        done = threading.Event()
        watcher = threading.Thread(target=_watch, args=(others, folder, done), daemon=True)
        watcher.start()
        try:
            ranks = join_ranks(folder / "store", rank=0, world_size=n_ranks)
            yield ranks
            done.set()
            leave_ranks(ranks)
        except MachineError as error:
            raise MachineError(f"{_obituary(others, folder) or error}") from error
        finally:
            done.set()
            _end(others)


def _start(rank: int, n_ranks: int, folder: Path, pieces: Path, config: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "nmt_cli.training.worker"]
    command += [str(rank), str(n_ranks), str(os.getpid()), str(folder / "store"), str(pieces), str(config)]
    with (folder / f"rank-{rank}.log").open("wb") as log:
        return subprocess.Popen(  # noqa: S603 - this program itself
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=os.environ | {"OMP_NUM_THREADS": "1"},
        )


def _watch(others: list[subprocess.Popen[bytes]], folder: Path, done: threading.Event) -> None:
    """End this process when another rank has died and the main thread waits for it in vain."""
    while not done.wait(0.2):
        if any(other.poll() is not None for other in others):
            deadline = time.monotonic() + SECONDS_TO_FALL
            while time.monotonic() < deadline:
                if done.wait(0.2):
                    return
            sys.stderr.write(f"nmt: {_obituary(others, folder)}\n")
            sys.stderr.flush()
            for other in others:
                other.kill()
            os._exit(MachineError.exit_code)


def _obituary(others: list[subprocess.Popen[bytes]], folder: Path) -> str | None:
    for rank, other in enumerate(others, start=1):
        with contextlib.suppress(subprocess.TimeoutExpired):
            other.wait(timeout=2.0)
        if other.returncode is not None:
            lines = (folder / f"rank-{rank}.log").read_text(encoding="utf-8", errors="replace").strip().splitlines()
            why = f": {lines[-1]}" if lines else ""
            return f"training process {rank} ended with exit code {other.returncode}{why}; the same command goes on"
    return None


def _end(others: list[subprocess.Popen[bytes]]) -> None:
    for other in others:
        try:
            other.wait(timeout=SECONDS_TO_FALL)
        except subprocess.TimeoutExpired:
            other.send_signal(signal.SIGKILL)
            other.wait()
