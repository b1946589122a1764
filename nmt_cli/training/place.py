"""Which rank this process is, when torchrun started it; needs no torch."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from dataclasses import dataclass

from nmt_cli.errors import UsageError

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
NAMES = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT")


@dataclass(frozen=True)
class Place:
    """The place of this process among those of a job."""

    rank: int
    world_size: int
    local_rank: int
    """Among those on this machine."""
    local_world_size: int | None


def place_in_job(environment: Mapping[str, str] = os.environ) -> Place | None:
    """Return the place that torchrun gave this process; None: it was started alone.

    Raises:
        UsageError: the environment says so only by half.
    """
    if environment.get("WORLD_SIZE", "1") == "1" or "RANK" not in environment:
        return None
    missing = [name for name in NAMES if name not in environment]
    if missing:
        raise UsageError(
            f"RANK and WORLD_SIZE are set, but {' and '.join(missing)} not; start with torchrun, or unset them"
        )
    try:
        rank, world_size, local_rank = (int(environment[name]) for name in NAMES[:3])
        local_world_size = environment.get("LOCAL_WORLD_SIZE")
        return Place(rank, world_size, local_rank, int(local_world_size) if local_world_size else None)
    except ValueError:
        said = ", ".join(f"{name}={environment[name]}" for name in NAMES[:3])
        raise UsageError(f"{said}: numbers are expected; start with torchrun, or unset them") from None


def end_in_silence_when_stopped() -> None:
    """Have the signals that stop training end this process without a word, which is the lead's to say."""
    for number in STOP_SIGNALS:
        signal.signal(number, signal.SIG_DFL)
