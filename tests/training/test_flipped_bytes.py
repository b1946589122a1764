"""A checkpoint with one flipped byte, wherever it is, is not taken for a good one."""

from __future__ import annotations

import random
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch

from nmt_cli.batches.training_data import open_training_data
from nmt_cli.errors import ModelError
from nmt_cli.model.load import fill
from nmt_cli.model_folder import open_model_folder
from nmt_cli.training.state import load_state
from nmt_cli.training.trained import Trained

N_FLIPS = 100


def load_all(checkpoint: Path, trained: Trained) -> None:
    """Load what a run that goes on loads."""
    fill(trained.model, open_model_folder(checkpoint).weights(), where=str(checkpoint))
    load_state(checkpoint / "training", trained.state())


def test_a_hundred_flips_anywhere_in_a_checkpoint_are_a_hundred_refusals(
    toy: Any,  # noqa: ANN401
    whole_run: Path,
    tmp_path: Path,
) -> None:
    trained = Trained.new(open_training_data(toy.corpus), toy.settings(), device=torch.device("cpu"))
    checkpoint = shutil.copytree((whole_run / "last").resolve(), tmp_path / "checkpoint")
    load_all(checkpoint, trained)
    files = sorted(path for path in checkpoint.rglob("*") if path.is_file())
    assert {"model.json", "weights.safetensors", "optimizer.safetensors", "state.json"} <= {path.name for path in files}
    draw = random.Random(7)  # noqa: S311 - which bytes, no secret
    for number in range(N_FLIPS):
        path = files[number % len(files)]
        whole = path.read_bytes()
        place = draw.randrange(len(whole))
        flipped = bytearray(whole)
        flipped[place] ^= 1 << draw.randrange(8)
        path.write_bytes(flipped)
        with pytest.raises(ModelError):
            load_all(checkpoint, trained)
        path.write_bytes(whole)
    load_all(checkpoint, trained)
