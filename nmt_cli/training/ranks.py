"""The processes that share each update, and what they say to one another (torch.distributed)."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, distributed
from torch.distributed import FileStore  # type: ignore[attr-defined]

from nmt_cli.errors import MachineError

LONGEST_WAIT = dt.timedelta(hours=12)
"""For the lead's validation; a rank that dies is noticed at once, by its closed connection."""


class LostRankError(MachineError):
    """Another rank is gone, or cannot be reached."""


@dataclass(frozen=True)
class Ranks:
    """This process among its like."""

    rank: int = 0
    """The lead, the process that the user started, is 0: it validates, reports and saves."""
    world_size: int = 1

    def sum_(self, values: Tensor) -> None:
        """Replace values by their sum over all ranks, the same bits on each.

        Raises:
            LostRankError: a rank is gone.
        """
        if self.world_size > 1:
            try:
                distributed.all_reduce(values)
            except RuntimeError as error:
                raise _lost(error) from error

    def follow_lead_(self, tensors: Iterable[Tensor]) -> None:
        """Replace tensors by those of rank 0.

        Raises:
            LostRankError: a rank is gone.
        """
        if self.world_size > 1:
            try:
                for tensor in tensors:
                    distributed.broadcast(tensor, src=0)
            except RuntimeError as error:
                raise _lost(error) from error

    def lead_says(self, number: int) -> int:
        """Return rank 0's number on every rank.

        Raises:
            LostRankError: a rank is gone.
        """
        said = torch.tensor(number, dtype=torch.int64)
        self.follow_lead_([said])
        return int(said)


def _lost(error: RuntimeError) -> LostRankError:
    return LostRankError(f"a training process was lost ({str(error).splitlines()[0][:120]}); the same command goes on")


def join_ranks(store: Path, *, rank: int, world_size: int) -> Ranks:
    """Return this rank once all of them have met at a file; gloo, on loopback only.

    Raises:
        LostRankError: they cannot meet.
    """
    try:
        distributed.init_process_group(
            "gloo",
            store=FileStore(str(store), world_size),
            rank=rank,
            world_size=world_size,
            timeout=LONGEST_WAIT,
        )
    except RuntimeError as error:
        raise _lost(error) from error
    return Ranks(rank, world_size)


def leave_ranks(ranks: Ranks) -> None:
    """End what `join_ranks` began."""
    if ranks.world_size > 1:
        distributed.destroy_process_group()
