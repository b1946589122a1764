"""The processes that share each update, and what they say to one another (torch.distributed)."""

from __future__ import annotations

import contextlib
import datetime as dt
import os
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import torch
from torch import Tensor, distributed
from torch.distributed import Store  # type: ignore[attr-defined]

from nmt_cli.batches.corpus import EncodedCorpus
from nmt_cli.batches.plan import Indices
from nmt_cli.errors import MachineError

CPU = torch.device("cpu")


class LostRankError(MachineError):
    """Another rank is gone, or cannot be reached."""


class Standing:
    """What this process is at, for when the ranks are called by name; read by another thread."""

    def __init__(self) -> None:
        """Nothing has begun."""
        self._update: tuple[int, Indices, EncodedCorpus] | None = None
        self.waits = False
        """Whether it waits for other ranks."""
        self._since = time.monotonic()

    def begins(self, step: int, pairs: Indices, corpus: EncodedCorpus) -> None:
        """Note the update that is now worked on."""
        self._update = step, pairs, corpus
        self._since = time.monotonic()

    def turns(self, *, waits: bool) -> None:
        """Note that it now waits for others, or no longer does."""
        self.waits, self._since = waits, time.monotonic()

    @contextlib.contextmanager
    def waiting(self) -> Iterator[None]:
        """Note that it waits for others during the block; and from then on, if the block ends by an error."""
        self.turns(waits=True)
        yield
        self.turns(waits=False)

    @property
    def seconds(self) -> float:
        """How long it has been at what it is at."""
        return time.monotonic() - self._since

    def __str__(self) -> str:
        """Return the update with its step, shape and tokens."""
        if self._update is None:
            return "before its first update"
        step, pairs, corpus = self._update
        source, target = corpus.source.lengths[pairs], corpus.target.lengths[pairs]
        return (
            f"in update {step:,} ({len(pairs):,} pairs, longest {source.max():,} x {target.max():,} tokens, "
            f"{source.sum():,} source and {target.sum():,} target tokens)"
        )


@dataclass(frozen=True)
class Ranks:
    """This process among its like."""

    rank: int = 0
    """The lead, the process that the user started, is 0: it reports and saves."""
    world_size: int = 1
    local_rank: int = 0
    """Its place among those on the same machine, and the number of its GPU."""
    device: torch.device = CPU
    standing: Standing = field(default_factory=Standing, compare=False)

    def sum_(self, values: Tensor) -> None:
        """Replace values by their sum over all ranks, the same bits on each.

        What is on a GPU may still be under way on return: `any_of` before it notices a rank that is gone.

        Raises:
            LostRankError: a rank is gone.
        """
        if self.world_size > 1:
            with self._together():
                distributed.all_reduce(values)

    def any_of(self, claim: bool) -> bool:
        """Tell on every rank whether a claim holds on one of them at least; no GPU is waited for.

        Raises:
            LostRankError: a rank is gone.
        """
        if self.world_size == 1:
            return claim
        number_of_claims = torch.tensor(int(claim))
        self.sum_(number_of_claims)
        return bool(number_of_claims)

    def least_of(self, number: int) -> int:
        """Return on every rank the smallest of their numbers.

        Raises:
            LostRankError: a rank is gone.
        """
        numbers = torch.zeros(self.world_size, dtype=torch.int64)
        numbers[self.rank] = number
        self.sum_(numbers)
        return int(numbers.min())

    def follow_lead_(self, tensors: Iterable[Tensor]) -> None:
        """Replace tensors by those of rank 0.

        Raises:
            LostRankError: a rank is gone.
        """
        if self.world_size > 1:
            with self._together():
                for tensor in tensors:
                    distributed.broadcast(tensor, src=0)

    def lead_says(self, number: int) -> int:
        """Return rank 0's number on every rank; no GPU is waited for.

        Raises:
            LostRankError: a rank is gone.
        """
        said = torch.tensor(number, dtype=torch.int64)
        self.follow_lead_([said])
        return int(said)

    @contextlib.contextmanager
    def _together(self) -> Iterator[None]:
        try:
            with self.standing.waiting():
                yield
        except RuntimeError as error:
            raise LostRankError(reason_of(error)) from error


def reason_of(error: RuntimeError) -> str:
    """Return what torch says of a failed exchange, without the place in its source."""
    first = str(error).splitlines()[0] if str(error) else type(error).__name__
    return first.rpartition("] ")[2].partition(". ")[0][:120]


def join(store: Store, ranks: Ranks, *, timeout: dt.timedelta) -> None:
    """Connect the ranks, who are all at the store by now; numbers travel by gloo, what is on GPUs by nccl.

    Raises:
        LostRankError: they cannot be connected.
    """
    backend = "gloo"
    if ranks.device.type == "cuda":
        backend = "cpu:gloo,cuda:nccl"
        # NCCL's own watch would end this process by a signal before anybody could say which rank is lost.
        os.environ.setdefault("TORCH_NCCL_ASYNC_ERROR_HANDLING", "0")
    try:
        with ranks.standing.waiting():
            distributed.init_process_group(
                backend, store=store, rank=ranks.rank, world_size=ranks.world_size, timeout=timeout
            )
    except RuntimeError as error:
        raise LostRankError(reason_of(error)) from error


def leave() -> None:
    """End what `join` began, if it did."""
    if distributed.is_initialized():
        distributed.destroy_process_group()
