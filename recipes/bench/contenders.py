"""How each contender is called."""

from __future__ import annotations

import itertools
import os
from collections.abc import Sequence
from pathlib import Path

from window import Contender

HERE = Path(__file__).parent
PEER_PYTHON = HERE / ".venv" / "bin" / "python"
NEVER = 1_000_000
PRECISIONS = ("float32", "bfloat16")


def report_every(preset: str) -> int:
    """Return how many updates lie between two reports: some seconds."""
    return 1 if preset in {"base", "big"} else 5


def settings_of_window(preset: str, *, precision: str, seed: int, more: Sequence[str] = ()) -> list[str]:
    """Return the options that both programs take."""
    chosen = [
        f"training.precision={precision}",
        f"training.seed={seed}",
        f"training.report_every_steps={report_every(preset)}",
        f"training.save_every_steps={NEVER}",
        f"training.validate_every_steps={NEVER}",
        *more,
    ]
    return ["--preset", preset, *itertools.chain.from_iterable(("--set", assignment) for assignment in chosen)]


def ours(
    nmt: str,
    data: Path,
    preset: str,
    *,
    precision: str,
    seed: int,
    compiled: bool = False,
    ranks: int | None = None,
    more: Sequence[str] = (),
) -> Contender:
    """Return `nmt train`, with a process a core unless told otherwise."""
    name = f"nmt {precision}" + (" compiled" if compiled else "") + ("" if ranks is None else f" {ranks} x 1")
    options = settings_of_window(preset, precision=precision, seed=seed, more=more)
    options += ["--set", f"machine.compile={str(compiled).lower()}", "--device", "cpu"]
    options += [] if ranks is None else ["--ranks", str(ranks)]
    return Contender(name, [nmt, "train", str(data), *options], {})


TUNED = "MarianMT tuned"
"""The peer in its fastest mode, on our batches."""


def as_it_comes() -> tuple[str, int, int]:
    """Return how the peer uses the cores when it is told nothing: attention, processes, threads of each."""
    return ("sdpa", 1, len(os.sched_getaffinity(0)))


def peer_modes() -> list[tuple[str, int, int]]:
    """Return the ways in which the peer can use the cores: attention, processes, threads of each."""
    cores = len(os.sched_getaffinity(0))
    shapes = [(1, cores), (cores, 1)] if cores > 1 else [(1, 1)]
    return [(attention, *shape) for attention in ("eager", "sdpa") for shape in shapes]


def peer(
    data: Path,
    preset: str,
    *,
    precision: str,
    seed: int,
    mode: tuple[str, int, int],
    own_batches: bool = False,
    more: Sequence[str] = (),
) -> Contender:
    """Return Hugging Face's MarianMTModel in a mode of `peer_modes`, on our batches or such as its trainer makes."""
    attention, n_processes, threads = mode
    command = [str(PEER_PYTHON), str(HERE / "peer.py"), str(data)]
    command += settings_of_window(preset, precision=precision, seed=seed, more=more)
    command += ["--attention", attention, "--processes", str(n_processes), "--threads", str(threads)]
    command += ["--batches", "own" if own_batches else "ours"]
    name = f"{'MarianMT' if own_batches else TUNED} {precision} {attention} {n_processes} x {threads}"
    return Contender(name, command, {"OMP_NUM_THREADS": str(threads), "HF_HUB_OFFLINE": "1"})
