"""From a corpus and settings to a run under way: a new one, or one that goes on."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import numpy as np
import torch

from nmt_cli.batches.sampled import subword_sampler
from nmt_cli.batches.training_data import TrainingData, check_weights, open_training_data
from nmt_cli.config import Settings
from nmt_cli.errors import DataError, UsageError
from nmt_cli.settings_files import changes_not_allowed, resolve, write_toml
from nmt_cli.training.capacity import Capacity, capacity_for
from nmt_cli.training.checkpoint import load_newest
from nmt_cli.training.compiling import compile_layers
from nmt_cli.training.devices import choose_device, ranks_on_gpus, uses_gpu
from nmt_cli.training.fine_tuning import begin_with_model
from nmt_cli.training.joining import Terms
from nmt_cli.training.launch import ranks_on_this_machine
from nmt_cli.training.loop import out_of_patience, train
from nmt_cli.training.memory import keep_few_primitives, keep_freed_memory
from nmt_cli.training.place import Place
from nmt_cli.training.precision import Precision, default_precision
from nmt_cli.training.progress import RunLog, duration
from nmt_cli.training.ranks import Ranks
from nmt_cli.training.report import Reporter
from nmt_cli.training.run_folder import RunFolder
from nmt_cli.training.state import Progress
from nmt_cli.training.stopping import listening_for_stop
from nmt_cli.training.tensorboard import curves_of, require_tensorboard
from nmt_cli.training.torchrun import lead_of_job
from nmt_cli.training.trained import Trained, has_moved, share_state
from nmt_cli.training.validation import Validator


def run_training(
    data: Path | Sequence[Path], run_path: Path, settings: Settings, *, quiet: bool = False, place: Place | None = None
) -> Progress:
    """Train, or go on training, a run on a corpus or several; return how far it came.

    With a `place` it is the lead of a job that torchrun started.

    Raises:
        UsageError: settings that do not fit the data, or differ from those the run began with.
        DataError, ModelError: what data or checkpoints have to say.
        DivergedError, StoppedError: see `loop.train`.
    """
    pieces = open_training_data(data)
    refuse_misfit(pieces, settings)
    if uses_gpu(settings.machine) and place is None:
        ranks_on_gpus(settings.machine.ranks, None)
    require_tensorboard(settings.machine)
    run = RunFolder(run_path)
    run.create()
    with (
        run.locked(),
        RunLog(run.log, quiet=quiet) as log,
        curves_of(run, settings.machine) as curves,
        listening_for_stop() as stop,
    ):
        capacity = capacity_for(
            settings, source_vocab_size=pieces.source_vocab_size, target_vocab_size=pieces.target_vocab_size
        )
        settings = settings_of_run(
            run, settings, log, capacity=capacity, world_size=place.world_size if place else None
        )
        torch.set_num_threads(1)
        keep_few_primitives()
        keep_freed_memory()
        device = choose_device(settings.machine, local_rank=place.local_rank if place else 0)
        trained = Trained.new(pieces, settings, device=device)
        progress = load_newest(run, trained, log) or first_progress(trained, log)
        run.forget_metrics_after(progress.step)
        reporter = Reporter(run, trained, log, curves)
        reporter.started(progress)
        validator = Validator(pieces.validation, settings) if pieces.validation else None
        if validator is None:
            log.line("there is no validation split; the best checkpoint is not chosen")
        if settings.machine.compile:
            compile_layers(trained.model, log.line)
        before = progress.step
        terms = Terms(settings, pieces.digest, tuple(pieces.paths))
        with all_ranks(place, terms, device) as ranks:
            progress, limit = share_state(trained, progress, ranks)
            if has_moved(progress, device):
                log.line(
                    f"on {device.type}, {progress.device} before: at most {limit.tokens:,} positions a side at a time "
                    "from here on; equal to the last bit only up to here"
                )
            progress = train(
                run,
                trained,
                progress,
                validator=validator,
                reporter=reporter,
                stop=stop,
                ranks=ranks,
                limit=limit,
            )
        if progress.step == before:
            larger = "--set training.patience" if out_of_patience(progress, settings.training) else "--max-steps"
            log.line(f"{run.path}: complete at step {progress.step:,}; give a larger {larger} to go on")
        else:
            best = f", best at step {progress.best_step:,}" if progress.best_step else ""
            log.line(f"{run.path}: done at step {progress.step:,} after {duration(progress.seconds)}{best}")
            reporter.ended(progress)
    return progress


def refuse_misfit(pieces: TrainingData, settings: Settings) -> None:
    """Check that the model can be built on this corpus.

    Raises:
        UsageError: naming both.
        DataError: no training pairs.
    """
    check_weights(pieces, settings.training)
    subword_sampler(pieces, settings.training)
    joint = len(pieces.subwords) == 1
    if settings.model.tying == "three-way" and not joint:
        raise UsageError(
            f"model.tying is three-way, but {pieces.name} has a vocabulary a side "
            f"({pieces.source_vocab_size:,} and {pieces.target_vocab_size:,}); set model.tying=decoder or none"
        )
    train_split, most = pieces.train_split(), settings.training.max_length
    shortest = int(np.maximum(train_split.source.lengths, train_split.target.lengths).min())
    if shortest > most:
        raise DataError(
            f"{pieces.name}: no training pair has at most {most:,} tokens a side, the shortest {shortest:,}; "
            "raise training.max_length"
        )
    if settings.model.positions == "learned":
        longest = {"training.max_length": settings.training.max_length}
        if pieces.validation is not None:
            valid = pieces.validation.split("valid")
            both = int(max(valid.source.lengths.max(), valid.target.lengths.max()))
            longest["the longest sentence of the validation split"] = both
        for what, length in longest.items():
            if length > settings.model.max_positions:
                raise UsageError(
                    f"{what} is {length}, but model.max_positions is {settings.model.max_positions}; "
                    "learned positions need a row for each position"
                )


def settings_of_run(
    run: RunFolder, settings: Settings, log: RunLog, *, capacity: Capacity, world_size: int | None = None
) -> Settings:
    """Return the settings to train with, the number of ranks among them, and write them to the run.

    A run that goes on keeps its number of ranks unless another is given; a job of torchrun has `world_size`.
    A new one takes what the machine has capacity for.

    Raises:
        UsageError: a field that may not change has another value, or there are fewer GPUs than ranks.
    """
    ranks, before, began_on_gpu = settings.machine.ranks, None, False
    precision = settings.training.precision
    if run.config.exists():
        began = resolve(preset=None, config=run.config)
        if run.steps():  # settings with which nothing was trained yet bind nobody
            precision = precision or began.training.precision or "float32"
            refuse_changes(run, began, with_precision(settings, precision))
            if settings.machine.compile != began.machine.compile:
                log.line(
                    f"machine.compile is {settings.machine.compile}, {began.machine.compile} before: "
                    "equal to the last bit only up to here"
                )
        before, began_on_gpu = began.machine.ranks, began.machine.device == "cuda"
    if world_size is not None:
        ranks = world_size
    elif uses_gpu(settings.machine):
        ranks = ranks_on_gpus(ranks, before if began_on_gpu else None)
    if ranks is None and before is None and capacity.ranks < capacity.cores:
        log.line(str(capacity))
    ranks = ranks or before or capacity.ranks
    if before is not None and ranks != before:
        log.line(f"{ranks} processes share each update, {before} before: equal to the last bit only up to here")
    machine = settings.machine.model_copy(update={"ranks": ranks})
    settings = with_precision(settings, precision or default_precision(choose_device(machine)))
    settings = settings.model_copy(update={"machine": machine})
    write_toml(run.config, settings)
    return settings


def refuse_changes(run: RunFolder, began: Settings, settings: Settings) -> None:
    """Check that a run may go on with settings.

    Raises:
        UsageError: naming both values of each field that may not change.
    """
    changed = changes_not_allowed(began, settings)
    if changed:
        raise UsageError(f"{run.path}: cannot go on with other settings: {'; '.join(changed)}; name another --run")


def with_precision(settings: Settings, precision: Precision) -> Settings:
    """Return settings that name the precision of training."""
    training = settings.training.model_copy(update={"precision": precision})
    return settings.model_copy(update={"training": training})


def first_progress(trained: Trained, log: RunLog) -> Progress:
    """Return where a new run stands, with the weights that it is to begin with.

    Raises:
        ModelError, UsageError: it is to begin with a model that is damaged, or does not fit.
    """
    if trained.settings.training.fine_tune is not None:
        begin_with_model(trained, Path(trained.settings.training.fine_tune))
        log.line(f"begins with the weights of {trained.settings.training.fine_tune}")
    return Progress()


def all_ranks(place: Place | None, terms: Terms, device: torch.device) -> AbstractContextManager[Ranks]:
    """Return what brings the ranks together: those of torchrun's job, or others started here."""
    if place is not None:
        return lead_of_job(place, terms, device=device)
    return ranks_on_this_machine(terms.settings.machine.ranks or 1, terms, device=device)
