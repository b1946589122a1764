"""The state of training that a checkpoint holds beside the weights: optimizer, cursor, best score."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from pydantic import Field
from torch import nn

from nmt_cli.batches.plan import Cursor
from nmt_cli.config import Section, TrainingConfig
from nmt_cli.errors import ModelError, UsageError
from nmt_cli.files import read_json, sha256_of_file
from nmt_cli.model_folder import read_tensors, write_tensors
from nmt_cli.sealed import is_sealed, write_sealed
from nmt_cli.settings_files import validated

OPTIMIZER = "optimizer.safetensors"
MANIFEST = "state.json"
ADAM_STATE = ("step", "exp_avg", "exp_avg_sq")


class Progress(Section):
    """How far a run is; all that decides how it goes on, beside weights and optimizer."""

    step: int = Field(default=0, ge=0, description="updates done")
    epoch: int = Field(default=0, ge=0, description="passes over the corpus done")
    update_in_epoch: int = Field(default=0, ge=0, description="updates done in this pass")
    best_score: float | None = Field(default=None, description="of the validations so far; larger is better")
    best_step: int | None = None
    validations_since_best: int = Field(default=0, ge=0)
    scores: dict[str, float | str] = Field(default_factory=dict, description="of the last validation")
    skipped_in_all: int = Field(default=0, ge=0, description="updates left out for a non-finite gradient")
    skipped_in_a_row: int = Field(default=0, ge=0)
    seconds: float = Field(default=0.0, ge=0, description="of training so far, validation and saving included")
    device_seconds: float = Field(default=0.0, ge=0, description="the same, times the processes that shared the work")
    model_flops: int = Field(default=0, ge=0, description="of the updates so far, skipped ones among them")

    @property
    def cursor(self) -> Cursor:
        """Where the plan of updates goes on."""
        return Cursor(self.step, self.epoch, self.update_in_epoch)


def make_optimizer(model: nn.Module, config: TrainingConfig) -> torch.optim.Adam:
    """Return Adam as in section 5.3; the loop sets its rate each step."""
    optimizer = torch.optim.Adam(
        model.parameters(),
        lr=0.0,
        betas=(config.adam_beta1, config.adam_beta2),
        eps=config.adam_epsilon,
        fused=True,
    )
    for parameter in model.parameters():
        optimizer.state[parameter] = {
            "step": torch.zeros((), device=parameter.device),
            "exp_avg": torch.zeros_like(parameter),
            "exp_avg_sq": torch.zeros_like(parameter),
        }
    return optimizer


def state_tensors(model: nn.Module, optimizer: torch.optim.Adam) -> list[torch.Tensor]:
    """Return all tensors that make up the state, in a fixed order."""
    parameters = list(model.parameters())
    moments = [optimizer.state[parameter][key] for parameter in parameters for key in ADAM_STATE]
    return [parameter.data for parameter in parameters] + moments


def save_state(folder: Path, model: nn.Module, optimizer: torch.optim.Adam, progress: Progress) -> None:
    """Write the state into a new folder."""
    folder.mkdir()
    tensors: dict[str, np.ndarray[Any, Any]] = {}
    for name, parameter in model.named_parameters():
        for key, value in optimizer.state.get(parameter, {}).items():
            tensors[f"{key}.{name}"] = value.detach().cpu().numpy()
    write_tensors(folder / OPTIMIZER, tensors)
    values = progress.model_dump() | {"files": {OPTIMIZER: sha256_of_file(folder / OPTIMIZER)}}
    write_sealed(folder / MANIFEST, values)


def load_state(folder: Path, model: nn.Module, optimizer: torch.optim.Adam) -> Progress:
    """Fill the optimizer from a folder and return how far the run was.

    Raises:
        ModelError: missing, damaged or edited, or of another model.
    """
    values = read_json(folder / MANIFEST, error=ModelError)
    sealed = is_sealed(folder / MANIFEST, values)
    _, files = values.pop("digest", None), values.pop("files", None)
    if not sealed or not isinstance(files, dict):
        raise ModelError(f"{folder / MANIFEST}: damaged or edited: its digest is not that of its fields")
    if not (folder / OPTIMIZER).is_file() or sha256_of_file(folder / OPTIMIZER) != files.get(OPTIMIZER):
        raise ModelError(f"{folder / OPTIMIZER}: missing or damaged: its sha256 is not that in {MANIFEST}")
    try:
        progress = validated(Progress, values, where=str(folder / MANIFEST))
    except UsageError as error:
        raise ModelError(str(error)) from None
    _fill(optimizer, model, read_tensors(folder / OPTIMIZER), where=folder)
    return progress


def _fill(
    optimizer: torch.optim.Adam, model: nn.Module, tensors: dict[str, np.ndarray[Any, Any]], *, where: Path
) -> None:
    for name, parameter in model.named_parameters():
        for key in ADAM_STATE:
            if f"{key}.{name}" not in tensors:
                raise ModelError(f"{where / OPTIMIZER}: has no {key} of {name}")
            optimizer.state[parameter][key].copy_(torch.from_numpy(tensors[f"{key}.{name}"]))
