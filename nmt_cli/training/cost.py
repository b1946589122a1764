"""What a training cost: as the paper counts it (table 2), and in the model's own arithmetic."""

from __future__ import annotations

from typing import NamedTuple

from nmt_cli.training.progress import duration


class Cost(NamedTuple):
    """Of all updates that made the run what it is; what a kill undid is not counted."""

    device_seconds: float
    """Seconds times devices: GPUs, or CPU cores, since a process on a CPU has one thread."""
    model_flops: int
    sustained_tflops: float | None
    """Rate of one device, in 10^12 FLOPs a second, if the user states it."""

    @property
    def paper_flops(self) -> float | None:
        """Training time x devices x the rate that one of them sustains (paper, section 6.1)."""
        return None if self.sustained_tflops is None else self.device_seconds * self.sustained_tflops * 1e12

    @property
    def record(self) -> dict[str, object]:
        """What metrics say of it; the paper's count is left out where no rate is stated."""
        values = {**self._asdict(), "paper_flops": self.paper_flops}
        return {name: value for name, value in values.items() if value is not None}

    def __str__(self) -> str:
        """Return it as the log shows it."""
        told = f"cost: {scientific(self.model_flops)} model FLOPs; {duration(self.device_seconds)} of devices"
        if self.paper_flops is None:
            return f"{told}; machine.sustained_tflops gives the paper's count too"
        return f"{told} x {self.sustained_tflops:g} TFLOP/s = {scientific(self.paper_flops)} as the paper counts"


def scientific(number: float) -> str:
    """Return a large number as papers print it: 3.28e18."""
    digits, exponent = f"{number:.2e}".split("e")
    return f"{digits}e{int(exponent)}"
