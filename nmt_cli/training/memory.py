"""How much goes through the model at a time: what fits into the memory of the device."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable

import numpy as np
import torch

from nmt_cli.batches.padding import Batch
from nmt_cli.batches.plan import MICRO_BATCH_TOKENS
from nmt_cli.batches.prepared import PreparedUpdate
from nmt_cli.errors import MachineError
from nmt_cli.model.transformer import Transformer
from nmt_cli.subwords.segmenter import END
from nmt_cli.training.gradient import batch_loss

SHARE_OF_FREE_MEMORY = 0.8
"""The rest is for what the allocator cannot use, and for the optimizer's passing needs."""
PROBES = (1_024, 4_096)
"""Positions a side of the micro-batches that are tried."""
SMALLEST_LIMIT, LARGEST_LIMIT = 512, 131_072
M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_THRESHOLD = -1, -2, -3
"""Options of `mallopt` by its numbers (mallopt(3))."""


class MicroBatchLimit:
    """Padded positions a side that go through the model at a time at most, the same number on every rank."""

    def __init__(self, tokens: int = MICRO_BATCH_TOKENS) -> None:
        """Begin with a limit."""
        self.tokens = tokens

    def halve(self, update: PreparedUpdate) -> None:
        """Let half as much through from now on.

        Raises:
            MachineError: the longest pair of this update alone is too much already.
        """
        longest = int(max(update.source_lengths.max(), update.target_lengths.max()))
        if self.tokens <= longest:
            raise MachineError(
                f"not enough memory for step {update.step:,}, even with micro-batches of {self.tokens:,} positions, "
                f"its longest pair having {longest:,}; give fewer --ranks, or begin another --run with a smaller "
                "training.max_length"
            )
        self.tokens //= 2


def keep_few_primitives() -> None:
    """Have oneDNN forget what it compiled for shapes of batches that went by; to be called before its first use.

    By default it keeps 1,024 such primitives, some megabytes each, and so does the layer between it and torch, whose
    scratch memory comes to some hundred megabytes and scatters the heap. Time is not saved by more than a few.
    """
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "16")
    os.environ.setdefault("LRU_CACHE_CAPACITY", "16")


def keep_freed_memory() -> None:
    """Have the C library keep large blocks that are freed for the next ones, instead of giving them back.

    Micro-batches take and free the same memory again and again, and the system hands out pages one by one,
    zeroed each time. What cannot be set, as where the C library is not GNU's, stays as it is.
    """
    set_option = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if set_option is not None:
        for option, size in ((M_MMAP_THRESHOLD, 1 << 30), (M_TRIM_THRESHOLD, (1 << 31) - 1), (M_TOP_PAD, 1 << 26)):
            set_option(option, size)


def measured_limit(model: Transformer, *, max_length: int) -> int:
    """Return how many positions a side fit on the GPU where a model is, by trying two small micro-batches.

    They have sentences of `max_length`, for which attention needs most, or as long as the smaller of the two.
    """
    device, length = model.output.weight.device, min(max_length, *PROBES)

    def bytes_for(positions: int) -> int:
        torch.cuda.reset_peak_memory_stats(device)
        before = torch.cuda.memory_allocated(device)
        batch_loss(model, longest_batch(positions, length), smoothing=0.1).smoothed.backward()  # type: ignore[no-untyped-call]
        peak = torch.cuda.max_memory_allocated(device) - before
        model.zero_grad(set_to_none=True)
        return peak

    try:
        bytes_for(PROBES[0])  # what the libraries take for themselves the first time
        free, _ = torch.cuda.mem_get_info(device)
        limit = limit_for(bytes_for, free_bytes=free)
    except torch.OutOfMemoryError:
        limit = SMALLEST_LIMIT  # an update that does not fit tells in words
    model.zero_grad(set_to_none=True)
    torch.cuda.empty_cache()
    return limit


def limit_for(bytes_for: Callable[[int], int], *, free_bytes: int) -> int:
    """Return how many positions fit into free memory, as a straight line through two measurements says."""
    few, many = PROBES
    at_few, at_many = bytes_for(few), bytes_for(many)
    bytes_per_position = max((at_many - at_few) / (many - few), 1.0)
    fixed = max(at_few - few * bytes_per_position, 0.0)
    fits = (SHARE_OF_FREE_MEMORY * free_bytes - fixed) / bytes_per_position
    return int(min(max(fits // 256 * 256, SMALLEST_LIMIT), LARGEST_LIMIT))


def longest_batch(positions: int, length: int) -> Batch:
    """Return sentences of a length that fill so many positions a side, all of them real tokens."""
    ids = np.full((max(positions // length, 1), length), END, dtype=np.int64)
    target_in = ids.copy()
    target_in[:, 0] = 0
    return Batch(ids, target_in, ids)
