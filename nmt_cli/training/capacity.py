"""How many ranks a machine without a GPU has cores and memory for."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path

import torch

from nmt_cli.batches.plan import MICRO_BATCH_TOKENS
from nmt_cli.config import ModelConfig, Settings
from nmt_cli.cores import cores_to_use
from nmt_cli.model.transformer import Transformer, parameter_count

CONTROL_GROUPS = Path("/sys/fs/cgroup")
OWN_GROUP = Path("/proc/self/cgroup")
MEMORY = Path("/proc/meminfo")
PROGRAM_BYTES = 500_000_000
"""Python, torch and the buffers of gloo."""
BYTES_A_PARAMETER = 20
"""Weight, gradient and two moments in float32, and as much again as a weight while they change."""
BYTES_OF_AVERAGE = 4
"""A parameter, where a moving average of the weights is kept."""


@dataclass(frozen=True)
class Capacity:
    """What a machine has room for."""

    cores: int
    bytes_available: int | None
    """None: the system does not say."""
    bytes_a_rank: int

    @property
    def ranks(self) -> int:
        """One a core, as far as memory goes, and one at least."""
        if self.bytes_available is None:
            return self.cores
        return max(min(self.cores, self.bytes_available // self.bytes_a_rank), 1)

    def __str__(self) -> str:
        """Return one line that says so."""
        available = (self.bytes_available or 0) / 1e9
        return (
            f"memory for {self.ranks} of {self.cores} processes: {available:.1f} GB, {self.bytes_a_rank / 1e9:.1f} each"
        )


def capacity_for(settings: Settings, *, source_vocab_size: int, target_vocab_size: int) -> Capacity:
    """Return what this process may use for ranks that train such a model."""
    with torch.device("meta"):
        model = Transformer(settings.model, source_vocab_size=source_vocab_size, target_vocab_size=target_vocab_size)
    micro_batch_tokens = settings.training.micro_batch_tokens or MICRO_BATCH_TOKENS
    n_parameters = parameter_count(model)
    needed = bytes_of_rank(settings.model, n_parameters, micro_batch_tokens=micro_batch_tokens)
    if settings.training.ema_decay is not None:
        needed += BYTES_OF_AVERAGE * n_parameters
    return Capacity(cores_to_use(), bytes_available(), needed)


def bytes_of_rank(model: ModelConfig, n_parameters: int, *, micro_batch_tokens: int) -> int:
    """Return about the most memory of a rank on a CPU: the program, the parameters' share, a micro-batch's activations.

    Kept for the way back, a position: 12 d_model + 2 d_ff numbers in a layer of the encoder, 20 d_model + 2 d_ff in
    one of the decoder. Logits are made a few rows at a time and do not count.
    """
    encoder = model.n_encoder_layers * (12 * model.d_model + 2 * model.d_ff)
    decoder = model.n_decoder_layers * (20 * model.d_model + 2 * model.d_ff)
    return PROGRAM_BYTES + BYTES_A_PARAMETER * n_parameters + 4 * micro_batch_tokens * (encoder + decoder)


def bytes_available() -> int | None:
    """Return the memory that is left to this process: by the system, and by its control groups; None: unknown."""
    found = []
    with contextlib.suppress(OSError, ValueError, IndexError):
        lines = MEMORY.read_text(encoding="ascii").splitlines()
        found += [int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")]
    group = Path("/")
    with contextlib.suppress(OSError, StopIteration):
        lines = OWN_GROUP.read_text(encoding="utf-8").splitlines()
        group = Path(next(line.removeprefix("0::") for line in lines if line.startswith("0::/")))
    for part in [group, *group.parents]:
        room = _room_of(CONTROL_GROUPS / part.relative_to("/"))
        found += [] if room is None else [room]
    return min(found, default=None)


def _room_of(group: Path) -> int | None:
    """Return what a control group may still take; what it caches of files gives way."""
    with contextlib.suppress(OSError, ValueError):
        limit = int((group / "memory.max").read_text(encoding="ascii"))  # "max": no limit
        used = int((group / "memory.current").read_text(encoding="ascii"))
        statistics = (group / "memory.stat").read_text(encoding="ascii").splitlines()
        cached = sum(int(line.split()[1]) for line in statistics if line.startswith("inactive_file "))
        return max(limit - used + cached, 0)
    return None
