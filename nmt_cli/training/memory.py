"""How much goes through the model at a time: what fits into the memory of the device."""

from __future__ import annotations

from nmt_cli.batches.plan import MICRO_BATCH_TOKENS
from nmt_cli.batches.prepared import PreparedUpdate
from nmt_cli.errors import MachineError


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
