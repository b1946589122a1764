"""Starting the other ranks on this machine, and ending with them."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

import torch
from torch.distributed import FileStore  # type: ignore[attr-defined]

from nmt_cli.errors import MachineError
from nmt_cli.training.joining import Terms, leading
from nmt_cli.training.place import STOP_SIGNALS
from nmt_cli.training.ranks import Ranks
from nmt_cli.training.roll_call import RollCall

LOOPBACK = {"linux": "lo", "darwin": "lo0"}


class OtherRank:
    """A rank that was started here, and what it wrote."""

    def __init__(self, rank: int, process: subprocess.Popen[bytes], log: BinaryIO) -> None:
        """Watch a process."""
        self.rank, self.process, self._log = rank, process, log

    def failure(self) -> str | None:
        """Return how it ended, unless it lives, was told to end, or ended because another was lost to it."""
        code = self.process.poll()
        if code in {None, 0, MachineError.exit_code}:
            return None
        end = f"killed by {signal.Signals(-code).name}" if code and code < 0 else f"ended with exit code {code}"
        size = os.fstat(self._log.fileno()).st_size
        lines = os.pread(self._log.fileno(), 1000, max(size - 1000, 0)).decode(errors="replace").strip().splitlines()
        return f"{end}, {lines[-1]}" if lines else end

    def end(self) -> None:
        """End it, asleep or not; it holds nothing that would need saving."""
        self.process.kill()
        self.process.wait()
        self._log.close()


@contextlib.contextmanager
def ranks_on_this_machine(n_ranks: int, terms: Terms, *, device: torch.device) -> Iterator[Ranks]:
    """Give rank 0 of `n_ranks`; the others are started for the block and end with it.

    Raises:
        MachineError: a rank was lost, named with what is known of it.
    """
    if n_ranks == 1:
        yield Ranks(device=device)
        return
    if sys.platform in LOOPBACK:
        os.environ["GLOO_SOCKET_IFNAME"] = LOOPBACK[sys.platform]
        os.environ.setdefault("NCCL_SOCKET_IFNAME", f"={LOOPBACK[sys.platform]}")
    others: list[OtherRank] = []

    def ended() -> Mapping[int, str]:
        failures = {other.rank: other.failure() for other in others}
        return {rank: failure for rank, failure in failures.items() if failure}

    ranks = Ranks(0, n_ranks, device=device)
    with _meeting_place() as place:
        try:
            for rank in range(1, n_ranks):
                others.append(_start(rank, n_ranks, place, terms.data))  # noqa: PERF401 - each to be ended
            store = FileStore(place, n_ranks)
            roll = RollCall(store, ranks, ended=ended, processes={other.rank: other.process.pid for other in others})
            with leading(store, roll, ranks, terms):
                yield ranks
        finally:
            for other in others:
                other.end()


@contextlib.contextmanager
def _meeting_place() -> Iterator[str]:
    """Give the path of a file for a store: without a name where there is such a thing, so that nothing can stay."""
    if sys.platform == "linux" and Path("/proc/self/fd").is_dir():
        descriptor = os.memfd_create("nmt-ranks", 0)
        os.set_inheritable(descriptor, True)  # noqa: FBT003 - its only argument
        try:
            yield f"/proc/self/fd/{descriptor}"
        finally:
            os.close(descriptor)
        return
    with tempfile.TemporaryDirectory(prefix="nmt-ranks-") as folder:
        yield f"{folder}/store"


def _start(rank: int, n_ranks: int, place: str, data: Sequence[Path]) -> OtherRank:
    command = [sys.executable, "-m", "nmt_cli.training.worker"]
    command += [str(rank), str(n_ranks), str(os.getpid()), place, *map(str, data)]
    descriptors = [int(Path(place).name)] if place.startswith("/proc/") else []
    log = tempfile.TemporaryFile()  # noqa: SIM115 - closed when the rank is ended
    try:
        with _stop_signals_blocked():
            process = subprocess.Popen(  # noqa: S603 - this program itself
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=descriptors,
                env=os.environ | {"OMP_NUM_THREADS": "1"},
            )
    except OSError as error:
        log.close()
        raise MachineError(f"training process {rank} cannot be started ({error.strerror}); try --ranks 1") from None
    return OtherRank(rank, process, log)


@contextlib.contextmanager
def _stop_signals_blocked() -> Iterator[None]:
    """Have a process that is started here never see Ctrl-C, SIGTERM or a hang-up, which often reach a whole group.

    Only the lead, which gets its own a moment later, decides what comes of them.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
