"""A model folder whose tensors are not those of its description is refused, each tensor named."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nmt_cli.errors import ModelError
from nmt_cli.model.load import load_transformer
from nmt_cli.model_folder import open_model_folder, subword_files, write_model_folder


def changed(folder: Path, out: Path, change: Callable[[dict[str, Any]], None]) -> Path:
    """Write a model like that in `folder` with other tensors, sealed anew."""
    model = open_model_folder(folder)
    weights = model.weights()
    change(weights)
    out.mkdir()
    write_model_folder(out, weights=weights, description=model.description, subwords=subword_files(model))
    return out


def test_missing_foreign_and_misshapen_tensors_are_named_together(model_folder: Path, tmp_path: Path) -> None:
    def change(weights: dict[str, Any]) -> None:
        del weights["encoder_layers.0.feed_forward.inner.bias"]
        weights["stranger"] = np.zeros(3, dtype=np.float32)
        weights["encoder_layers.1.feed_forward.inner.bias"] = np.zeros(5, dtype=np.float32)

    folder = open_model_folder(changed(model_folder, tmp_path / "changed", change))
    with pytest.raises(ModelError) as refused:
        load_transformer(folder)
    said = str(refused.value)
    assert "encoder_layers.0.feed_forward.inner.bias is missing" in said
    assert "stranger is not known" in said
    assert "encoder_layers.1.feed_forward.inner.bias is [5], not [64]" in said


def test_the_tensors_of_a_folder_are_those_of_the_model(model_folder: Path) -> None:
    folder = open_model_folder(model_folder)
    model = load_transformer(folder)
    assert not model.training
    for name, array in folder.weights().items():
        np.testing.assert_array_equal(model.get_parameter(name).detach().numpy(), array)
