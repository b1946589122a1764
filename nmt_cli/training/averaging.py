"""The mean of checkpoints as a model folder (paper, section 6.1)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import nmt_cli
from nmt_cli.config import StorageForm
from nmt_cli.errors import ModelError, UsageError
from nmt_cli.files import new_directory, real_path
from nmt_cli.model_folder import KIND, MANIFEST, ModelFolder, open_model_folder, subword_files, write_model_folder
from nmt_cli.training.run_folder import RunFolder


def choose_checkpoints(run_path: Path, *, last: int) -> list[Path]:
    """Return the newest `last` checkpoints of a run that were written at their turn.

    Raises:
        ModelError: no run, or fewer checkpoints than asked for.
    """
    run = RunFolder(run_path)
    if not run.checkpoints.is_dir():
        raise ModelError(f"{run_path}: no run (it has no checkpoints/); name a run of nmt train or model folders")
    steps = run.regular_steps()
    if len(steps) < last:
        raise ModelError(f"{run_path}: has {len(steps)} checkpoints, but --last is {last}; ask for fewer or train on")
    return [run.checkpoint(step) for step in steps[-last:]]


def average_models(
    paths: Sequence[Path], out: Path, *, force: bool = False, stored_as: StorageForm = "float32"
) -> Path:
    """Write the arithmetic mean of the weights of models, taken in float64, as a model folder.

    Raises:
        ModelError: a folder is no good model, or they are not of one kind.
        UsageError: `out` is one of them, or may not be replaced.
    """
    if real_path(out) in {real_path(path) for path in paths}:
        raise UsageError(f"{out}: is one of the models to average; name another place with --out")
    models = [open_model_folder(path) for path in paths]
    first = models[0]
    for other in models[1:]:
        refuse_difference(first, other)
    newest = max(models, key=lambda model: model.description.step)
    description = newest.description.model_copy(
        update={
            "scores": {},
            "stored_as": stored_as,
            "provenance": {
                "data": newest.description.provenance.get("data"),
                "parents": [
                    {
                        "path": model.path.name,
                        "step": model.description.step,
                        "weights": model.digests["weights.safetensors"],
                    }
                    for model in models
                ],
                "nmt": nmt_cli.__version__,
            },
        }
    )
    with new_directory(out, manifest=MANIFEST, kind=KIND, force=force) as scratch:
        write_model_folder(scratch, weights=_mean(models), description=description, subwords=subword_files(newest))
    return out


def refuse_difference(first: ModelFolder, other: ModelFolder) -> None:
    """Check that two models may be averaged.

    Raises:
        ModelError: their architecture, vocabularies, languages, steps of text or subwords differ.
    """
    for name in ("model", "source_vocab_size", "target_vocab_size", "source_language", "target_language", "text"):
        one, two = getattr(first.description, name), getattr(other.description, name)
        if one != two:
            raise ModelError(f"{first.path} and {other.path} differ in {name}; only like models can be averaged")
    one_digests, two_digests = ({n: d for n, d in m.digests.items() if n.endswith(".model")} for m in (first, other))
    if one_digests != two_digests:
        raise ModelError(f"{first.path} and {other.path} have different subwords; only like models can be averaged")


def _mean(models: Sequence[ModelFolder]) -> dict[str, np.ndarray[Any, Any]]:
    sums: dict[str, np.ndarray[Any, Any]] = {}
    for model in models:
        weights = model.weights()
        shapes = {name: array.shape for name, array in weights.items()}
        if sums and shapes != {name: total.shape for name, total in sums.items()}:
            raise ModelError(f"{models[0].path} and {model.path} have different tensors; like ones can be averaged")
        for name, array in weights.items():
            sums[name] = sums[name] + array if name in sums else array.astype(np.float64)
    return {name: (total / len(models)).astype(np.float32) for name, total in sums.items()}
