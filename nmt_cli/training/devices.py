"""Which device a rank works on."""

from __future__ import annotations

import torch

from nmt_cli.config import MachineConfig
from nmt_cli.errors import MachineError, UsageError


def uses_gpu(machine: MachineConfig) -> bool:
    """Tell whether to train on a GPU.

    Raises:
        MachineError: one was asked for and there is none.
    """
    has_gpu = torch.cuda.is_available()
    if machine.device == "cuda" and not has_gpu:
        raise MachineError("machine.device is cuda, but this machine has no CUDA device; set machine.device=cpu")
    return has_gpu and machine.device != "cpu"


def choose_device(machine: MachineConfig, *, local_rank: int = 0) -> torch.device:
    """Return the device that a rank trains on: a GPU of its own, or the CPU.

    Raises:
        MachineError: a GPU was asked for and there is none, or none for this rank.
    """
    return own_gpu(local_rank) if uses_gpu(machine) else torch.device("cpu")


def own_gpu(local_rank: int) -> torch.device:
    """Return the GPU of a rank, which becomes the one that it works on.

    Raises:
        MachineError: there are fewer.
    """
    n_gpus = torch.cuda.device_count()
    if local_rank >= n_gpus:
        raise MachineError(
            f"this is process {local_rank + 1} on this machine, but there are {n_gpus} GPUs; start one a GPU"
        )
    device = torch.device("cuda", local_rank)
    torch.cuda.set_device(device)
    return device


def ranks_on_gpus(given: int | None, before: int | None) -> int:
    """Return the number of ranks, a GPU each: that given, or before on GPUs, or one.

    Raises:
        UsageError: more than there are GPUs.
    """
    wanted, n_gpus = given or before or 1, torch.cuda.device_count()
    if wanted > n_gpus:
        raise UsageError(
            f"machine.ranks is {wanted}, a GPU each, but this machine has {n_gpus}; give --gpus {n_gpus}, "
            "or --device cpu"
        )
    return wanted
