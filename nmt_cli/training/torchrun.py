"""The ranks of a job that torchrun started, which meet at its store."""

from __future__ import annotations

import contextlib
import datetime as dt
import os
import sys
from collections.abc import Iterator

import torch
from torch.distributed import Store, rendezvous  # type: ignore[attr-defined]

from nmt_cli.training.joining import Terms, leading
from nmt_cli.training.launch import LOOPBACK
from nmt_cli.training.place import Place
from nmt_cli.training.ranks import LostRankError, Ranks, reason_of
from nmt_cli.training.roll_call import SECONDS_TO_MEET, RollCall

SECONDS_TO_CONNECT = 60.0
"""To a store that is there already."""


def ranks_at(place: Place, device: torch.device) -> Ranks:
    """Return the ranks as the one at a place sees them."""
    return Ranks(place.rank, place.world_size, place.local_rank, device)


def store_of_job(place: Place) -> Store:
    """Return the store where all ranks of the job meet, that of torchrun.

    Raises:
        LostRankError: it cannot be reached.
    """
    if place.local_world_size == place.world_size and sys.platform in LOOPBACK:
        os.environ.setdefault("GLOO_SOCKET_IFNAME", LOOPBACK[sys.platform])
    has_begun = os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True"  # else the lead keeps it, and is yet to come
    seconds = SECONDS_TO_CONNECT if has_begun else SECONDS_TO_MEET
    try:
        store: Store = next(iter(rendezvous("env://", timeout=dt.timedelta(seconds=seconds))))[0]
    except RuntimeError as error:
        where = f"{os.environ['MASTER_ADDR']}:{os.environ['MASTER_PORT']}"
        raise LostRankError(f"the store of torchrun at {where} cannot be reached ({reason_of(error)})") from error
    return store


@contextlib.contextmanager
def lead_of_job(place: Place, terms: Terms, *, device: torch.device) -> Iterator[Ranks]:
    """Give rank 0 of a job for the block.

    Raises:
        MachineError: a rank was lost, named with what is known of it.
    """
    ranks = ranks_at(place, device)
    store = store_of_job(place)
    with leading(store, RollCall(store, ranks), ranks, terms):
        yield ranks
