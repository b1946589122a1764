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
from nmt_cli.settings_files import resolve
from nmt_cli.training.run_folder import RunFolder


def choose_checkpoints(run_path: Path, *, last: int) -> list[Path]:
    """Return the newest `last` checkpoints of a run that were written at their turn.

    Raises:
        ModelError: no run, or fewer checkpoints than asked for.
    """
    run = run_at(run_path)
    steps = run.regular_steps()
    if len(steps) < last:
        raise ModelError(f"{run_path}: has {len(steps)} checkpoints, but --last is {last}; ask for fewer or train on")
    return [run.checkpoint(step) for step in steps[-last:]]


def choose_best_checkpoints(run_path: Path, *, best: int) -> list[Path]:
    """Return the `best` checkpoints of a run that validation found best, by what `best_by` names, in their order.

    Those that are still there and were validated as they are count, whatever they were written for; of equals
    the earlier is better, as in training.

    Raises:
        ModelError: no run, or fewer such checkpoints than asked for.
    """
    run = run_at(run_path)
    by_bleu = resolve(preset=None, config=run.config).training.best_by == "bleu"
    field, sign = ("validation_bleu", -1.0) if by_bleu else ("validation_perplexity", 1.0)
    kept = set(run.steps())
    found = {
        record["step"]: sign * record[field]
        for record in run.records("validation")
        if record["step"] in kept and isinstance(record.get(field), float)
    }
    if len(found) < best:
        raise ModelError(
            f"{run_path}: has {len(found)} checkpoints with a validation of their own, but --best is {best}; "
            "ask for fewer, or train with a larger training.keep_checkpoints and validations where it saves"
        )
    chosen = sorted(found, key=lambda step: (found[step], step))[:best]
    return [run.checkpoint(step) for step in sorted(chosen)]


def run_at(path: Path) -> RunFolder:
    """Return the run at a path.

    Raises:
        ModelError: there is none.
    """
    run = RunFolder(path)
    if not run.checkpoints.is_dir():
        raise ModelError(f"{path}: no run (it has no checkpoints/); name a run of nmt train or model folders")
    return run


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
