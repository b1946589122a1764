"""Several models as one: their probabilities are averaged, and they must read and write the same pieces."""

from __future__ import annotations

import math
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from nmt_cli import Translator
from nmt_cli.errors import ModelError
from nmt_cli.model.load import load_transformer
from nmt_cli.model_folder import ModelFolder, open_model_folder, subword_files, write_model_folder
from nmt_cli.subwords.segmenter import END, PAD, Segmenter

LINES = ["the red dog sees the bridge", "a child opens the window", "water"]


def variant(folder: Path, target: Path, *, noise: float = 0.0, **changes: object) -> ModelFolder:
    """Write a model like the one of a folder with disturbed weights, or another description."""
    opened = open_model_folder(folder)
    generator = torch.Generator().manual_seed(5)
    weights = {
        name: array + noise * torch.randn(array.shape, generator=generator).numpy()
        for name, array in opened.weights().items()
    }
    target.mkdir()
    description = opened.description.model_copy(update=changes)
    write_model_folder(target, weights=weights, description=description, subwords=subword_files(opened))
    return open_model_folder(target)


def test_a_translation_has_the_mean_probability_of_each_piece(model_folder: Path, tmp_path: Path) -> None:
    folders = [open_model_folder(model_folder), variant(model_folder, tmp_path / "other", noise=0.02)]
    translator = Translator.of_folder(*folders)
    found = translator.score(LINES, LINES)
    models = [load_transformer(folder, device=torch.device("cpu")) for folder in folders]
    segmenter = Segmenter.load(model_folder / "subwords.model")
    for line, score in zip(LINES, found, strict=True):
        ids = [*segmenter.encode([line])[0], END]
        source, target_in = torch.tensor([ids]), torch.tensor([[PAD, *ids[:-1]]])
        with torch.no_grad():
            each = [model.logits(model(source, target_in))[0].double().softmax(dim=-1) for model in models]
        mean = (each[0] + each[1]) / 2
        expected = sum(math.log(mean[place, piece].item()) for place, piece in enumerate(ids))
        assert score.log_prob == pytest.approx(expected, abs=1e-4)


def test_a_model_twice_translates_as_it_does_alone(model_folder: Path) -> None:
    command = [sys.executable, "-W", "error", "-m", "nmt_cli", "translate", "--quiet"]
    alone, twice = (
        subprocess.run(
            [*command, *["--model", str(model_folder)] * n],
            input="\n".join(LINES).encode(),
            capture_output=True,
            check=True,
        ).stdout
        for n in (1, 2)
    )
    assert alone == twice
    assert len(alone.splitlines()) == 3


def test_models_of_other_languages_steps_or_subwords_are_refused_by_name(model_folder: Path, tmp_path: Path) -> None:
    first = open_model_folder(model_folder)
    french = variant(model_folder, tmp_path / "french", target_language="fr")
    with pytest.raises(ModelError, match=r"french: other languages than .*\(en-fr, not en-de\)"):
        Translator.of_folder(first, french)
    lower = variant(
        model_folder, tmp_path / "lower", text=first.description.text.model_copy(update={"lowercase": True})
    )
    with pytest.raises(ModelError, match="lower: other steps of text than"):
        Translator.of_folder(first, lower)
    shutil.copytree(model_folder, tmp_path / "copy")
    assert Translator.load(model_folder, tmp_path / "copy").translate(LINES[:1])
