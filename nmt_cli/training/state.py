"""The state of training that a checkpoint holds beside the weights: cursor, best score, tensors of the optimizer."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import torch
from pydantic import Field

from nmt_cli.batches.plan import Cursor
from nmt_cli.config import Section
from nmt_cli.errors import ModelError, UsageError
from nmt_cli.files import read_json, sha256_of_file
from nmt_cli.model_folder import Weights, read_tensors, write_tensors
from nmt_cli.sealed import is_sealed, write_sealed
from nmt_cli.settings_files import validated

TENSORS = "optimizer.safetensors"
MANIFEST = "state.json"


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
    micro_batch_tokens: int | None = Field(
        default=None, gt=0, description="padded positions a side that went through the model at a time at most"
    )
    device: str | None = Field(default=None, description="cpu or cuda: the kind of device that this limit is for")

    @property
    def cursor(self) -> Cursor:
        """Where the plan of updates goes on."""
        return Cursor(self.step, self.epoch, self.update_in_epoch)


def save_state(folder: Path, arrays: Weights, progress: Progress) -> None:
    """Write the state into a new folder."""
    folder.mkdir()
    write_tensors(folder / TENSORS, arrays)
    values = progress.model_dump() | {"files": {TENSORS: sha256_of_file(folder / TENSORS)}}
    write_sealed(folder / MANIFEST, values)


def load_state(folder: Path, tensors: Mapping[str, torch.Tensor]) -> Progress:
    """Fill tensors, by their names, from a folder and return how far the run was.

    Raises:
        ModelError: missing, damaged or edited, or of another model.
    """
    values = read_json(folder / MANIFEST, error=ModelError)
    sealed = is_sealed(folder / MANIFEST, values)
    _, files = values.pop("digest", None), values.pop("files", None)
    if not sealed or not isinstance(files, dict):
        raise ModelError(f"{folder / MANIFEST}: damaged or edited: its digest is not that of its fields")
    if not (folder / TENSORS).is_file() or sha256_of_file(folder / TENSORS) != files.get(TENSORS):
        raise ModelError(f"{folder / TENSORS}: missing or damaged: its sha256 is not that in {MANIFEST}")
    try:
        progress = validated(Progress, values, where=str(folder / MANIFEST))
    except UsageError as error:
        raise ModelError(str(error)) from None
    arrays = read_tensors(folder / TENSORS)
    for name, tensor in tensors.items():
        if name not in arrays or arrays[name].shape != tuple(tensor.shape):
            raise ModelError(f"{folder / TENSORS}: has no {name} of shape {list(tensor.shape)}")
        tensor.copy_(torch.from_numpy(arrays[name]))
    return progress
