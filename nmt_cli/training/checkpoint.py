"""Writing and reading checkpoints: a model folder each, with the state of training inside."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

import nmt_cli
from nmt_cli.batches.training_data import TrainingData
from nmt_cli.errors import DataError, DivergedError, MachineError, ModelError
from nmt_cli.files import new_directory, sha256_of_file
from nmt_cli.model.load import fill
from nmt_cli.model_folder import KIND, MANIFEST, ModelDescription, Weights, open_model_folder, write_model_folder
from nmt_cli.training.progress import RunLog
from nmt_cli.training.run_folder import STATE, RunFolder
from nmt_cli.training.state import Progress, load_state, save_state
from nmt_cli.training.trained import Trained


@dataclass(frozen=True)
class Snapshot:
    """All that a checkpoint holds, as it stood after a step."""

    weights: Weights
    state: Weights
    description: ModelDescription
    progress: Progress


def take_snapshot(trained: Trained, progress: Progress, *, reason: str, copied: bool = False) -> Snapshot:
    """Return the state as it stands; on a CPU it changes with what is being trained unless it is copied."""
    with trained.shown():
        weights = _arrays(trained.model.named_parameters(), copied=copied)
    state = _arrays(trained.state().items(), copied=copied)
    return Snapshot(weights, state, describe(trained, progress, reason=reason), progress)


def _arrays(tensors: Iterable[tuple[str, Tensor]], *, copied: bool) -> Weights:
    return {name: tensor.detach().to("cpu", copy=copied).numpy() for name, tensor in tensors}


def write_snapshot(run: RunFolder, trained: Trained, snapshot: Snapshot) -> None:
    """Write the checkpoint of a step, point the links at it and remove what is no longer kept.

    Raises:
        DataError: the subwords are no longer those that the weights were trained on.
        DivergedError: a number is not finite.
        MachineError: the disk refuses; the checkpoints before still stand.
    """
    progress = snapshot.progress
    if progress.step not in run.steps():
        refuse_not_finite(run, snapshot)
        refuse_changed_subwords(trained.pieces)
        with (
            naming_what_stands(run, progress.step),
            new_directory(run.checkpoint(progress.step), manifest=MANIFEST, kind=KIND) as scratch,
        ):
            save_state(scratch / STATE, snapshot.state, progress)
            write_model_folder(
                scratch,
                weights=snapshot.weights,
                description=snapshot.description,
                subwords=trained.pieces.subwords,
            )
    point_links(run, progress)
    run.prune(keep=trained.settings.training.keep_checkpoints, best=progress.best_step)


@contextlib.contextmanager
def naming_what_stands(run: RunFolder, step: int) -> Iterator[None]:
    """Have a disk that refuses a checkpoint told of by the checkpoint's name, which its hidden folder is to get.

    Raises:
        MachineError: naming the last good checkpoint too.
    """
    try:
        yield
    except MachineError as error:
        refused = ": cannot be written "  # as `files.writing_to` says
        why = str(error).rpartition(refused)[2]
        raise MachineError(
            f"{run.checkpoint(step)}{refused}{why}; {run.last_good}; make room, and the same command goes on"
        ) from error


def refuse_not_finite(run: RunFolder, snapshot: Snapshot) -> None:
    """Check that all numbers of a checkpoint are finite: steps that are too large can take weights beyond that.

    Raises:
        DivergedError: naming the last good checkpoint.
    """
    for arrays in (snapshot.weights, snapshot.state):
        for name, array in arrays.items():
            # A sum in float64 is finite only if each of its float32 numbers is.
            with np.errstate(invalid="ignore"):
                is_finite = math.isfinite(array.sum(dtype=np.float64))
            if not is_finite:
                raise DivergedError(
                    f"{run.path}: {name} is not finite after step {snapshot.progress.step:,}; {run.last_good}; "
                    "try a smaller learning rate or a longer warm-up"
                )


def refuse_changed_subwords(pieces: TrainingData) -> None:
    """Check that a checkpoint gets the subwords that training began with: others would make nonsense of it.

    Raises:
        DataError: a file was exchanged or removed.
    """
    for name, path in pieces.subwords.items():
        if not path.is_file() or sha256_of_file(path) != pieces.manifest["files"][name]:
            raise DataError(
                f"{path}: exchanged or removed while a run trained on it; put the folder back, "
                "and the same command goes on from the last checkpoint"
            )


def point_links(run: RunFolder, progress: Progress) -> None:
    """Point `last` at the checkpoint of this step and `best` at the best, if it is still there."""
    run.link("last", progress.step)
    if progress.best_step in run.steps():
        run.link("best", progress.best_step)
    else:
        run.unlink("best")


def describe(trained: Trained, progress: Progress, *, reason: str) -> ModelDescription:
    """Return what `model.json` says of a checkpoint."""
    manifest = trained.pieces.manifest
    return ModelDescription(
        source_language=manifest["source_language"],
        target_language=manifest["target_language"],
        source_vocab_size=trained.pieces.source_vocab_size,
        target_vocab_size=trained.pieces.target_vocab_size,
        model=trained.settings.model,
        search=trained.settings.search,
        text=trained.pieces.text,
        step=progress.step,
        scores=progress.scores,
        provenance={
            "reason": reason,
            "data": trained.pieces.digest,
            "seed": trained.settings.training.seed,
            "fine_tune": trained.settings.training.fine_tune,
            "nmt": nmt_cli.__version__,
            "torch": torch.__version__,
        },
    )


def load_newest(run: RunFolder, trained: Trained, log: RunLog) -> Progress | None:
    """Fill model and optimizer from the newest good checkpoint; None where a run has none yet.

    A damaged newest one is named and the one before is used.

    Raises:
        ModelError: there are checkpoints, and none can be used.
    """
    problems = []
    for step in reversed(run.steps()):
        folder = run.checkpoint(step)
        if not (folder / STATE).is_dir():
            continue
        try:
            model = open_model_folder(folder)
            is_of_this_data = model.description.provenance.get("data") == trained.pieces.digest
            if is_of_this_data:  # else tensors need not even have the same shape
                progress = load_state(folder / STATE, trained.state())
                refuse_other_step(folder, progress, named=step)
                with trained.shown():
                    fill(trained.model, model.weights(), where=str(folder))
        except ModelError as error:
            log.line(f"cannot continue from step {step:,}: {error}")
            problems.append(str(error))
            continue
        if not is_of_this_data:
            raise ModelError(
                f"{folder}: trained on data {str(model.description.provenance.get('data'))[:12]}…, "
                f"but {trained.pieces.name} is {trained.pieces.digest[:12]}…; give the same data or another --run"
            )
        # The links first: at no instant may one point at nothing.
        point_links(run, progress)
        run.remove_after(step)
        return progress
    if run.steps():
        reason = f"the newest: {problems[0]}" if problems else f"none has its {STATE}/ folder"
        raise ModelError(f"{run.path}: no checkpoint can be continued; {reason}")
    return None


def refuse_other_step(folder: Path, progress: Progress, *, named: int) -> None:
    """Check that a checkpoint is of the step that its name says, or the run would come back to it again and again.

    Raises:
        ModelError: it was renamed, or copied.
    """
    if progress.step != named:
        raise ModelError(f"{folder}: is of step {progress.step:,}; a folder of checkpoints/ must keep its name")
