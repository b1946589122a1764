"""Starting the other ranks on this machine, and ending with them."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from nmt_cli.errors import MachineError
from nmt_cli.training.ranks import LostRankError, Ranks, join_ranks, leave_ranks

SECONDS_TO_FALL = 10.0
"""After a rank has died: time for this process to notice by itself, before it is ended."""
SECONDS_TO_DIE = 2.0
"""After a connection has broken: time for the rank at its other end to be known as dead."""
LOOPBACK = {"linux": "lo", "darwin": "lo0"}
STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextlib.contextmanager
def ranks_on_this_machine(n_ranks: int, *, pieces: Sequence[Path], config: Path) -> Iterator[Ranks]:
    """Give rank 0 of `n_ranks`; the others are started for the block and end with it.

    Raises:
        MachineError: a rank died.
    """
    if n_ranks == 1:
        yield Ranks()
        return
    if sys.platform in LOOPBACK:
        os.environ["GLOO_SOCKET_IFNAME"] = LOOPBACK[sys.platform]
    with tempfile.TemporaryDirectory(prefix="nmt-ranks-") as name:
        folder = Path(name)
        others: list[subprocess.Popen[bytes]] = []
        done = threading.Event()
        try:
            for rank in range(1, n_ranks):
                others.append(_start(rank, n_ranks, folder, pieces, config))  # noqa: PERF401 - each to be ended
            threading.Thread(target=_watch, args=(others, folder, done), daemon=True).start()
            ranks = join_ranks(folder / "store", rank=0, world_size=n_ranks)
            yield ranks
            done.set()
            leave_ranks(ranks)
        except LostRankError as error:
            raise MachineError(_obituary(others, folder, wait=SECONDS_TO_DIE) or str(error)) from error
        finally:
            done.set()
            _end(others)


def _start(rank: int, n_ranks: int, folder: Path, pieces: Sequence[Path], config: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "nmt_cli.training.worker"]
    command += [str(rank), str(n_ranks), str(os.getpid()), str(folder / "store"), str(config), *map(str, pieces)]
    try:
        with (folder / f"rank-{rank}.log").open("wb") as log, _stop_signals_blocked():
            return subprocess.Popen(  # noqa: S603 - this program itself
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=os.environ | {"OMP_NUM_THREADS": "1"},
            )
    except OSError as error:
        raise MachineError(f"training process {rank} cannot be started ({error.strerror}); try --ranks 1") from None


@contextlib.contextmanager
def _stop_signals_blocked() -> Iterator[None]:
    """Have a process that is started here never see Ctrl-C or SIGTERM, which often reach a whole group.

    Only the lead, which gets its own a moment later, decides what comes of them.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _watch(others: list[subprocess.Popen[bytes]], folder: Path, done: threading.Event) -> None:
    """End this process when another rank has died and the main thread waits for it in vain."""
    while not done.wait(0.2):
        if any(other.poll() for other in others):
            if done.wait(SECONDS_TO_FALL):
                return
            sys.stderr.write(f"nmt: {_obituary(others, folder)}\n")
            sys.stderr.flush()
            _end(others)
            shutil.rmtree(folder, ignore_errors=True)
            os._exit(MachineError.exit_code)


def _obituary(others: list[subprocess.Popen[bytes]], folder: Path, *, wait: float = 0.0) -> str | None:
    """Say which rank died and why, if one did: before those that ended because it was lost to them."""
    deadline = time.monotonic() + wait
    while True:
        codes = {rank: other.poll() for rank, other in enumerate(others, start=1)}
        dead = {rank: code for rank, code in codes.items() if code}  # 0: it was told to end
        first = sorted(dead, key=lambda rank: (dead[rank] == MachineError.exit_code, rank))[:1]
        if (first and dead[first[0]] != MachineError.exit_code) or time.monotonic() >= deadline:
            break
        time.sleep(0.05)
    for rank in first:
        lines = (folder / f"rank-{rank}.log").read_text(encoding="utf-8", errors="replace").strip().splitlines()
        why = f": {lines[-1]}" if lines else ""
        return f"training process {rank} ended with exit code {dead[rank]}{why}; the same command goes on"
    return None


def _end(others: list[subprocess.Popen[bytes]]) -> None:
    """End the other ranks; they hold nothing that would need saving."""
    for other in others:
        other.kill()
    for other in others:
        other.wait()
