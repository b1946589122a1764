"""The training loop, in the order in which it happens (paper, section 5)."""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch

from nmt_cli.batches.corpus import EncodedCorpus
from nmt_cli.batches.plan import Cursor, Indices, plan_of
from nmt_cli.config import TrainingConfig
from nmt_cli.errors import DataError, DivergedError, StoppedError
from nmt_cli.training.gradient import Gradient
from nmt_cli.training.memory import MicroBatchLimit
from nmt_cli.training.ranks import Ranks
from nmt_cli.training.report import Reporter
from nmt_cli.training.run_folder import RunFolder
from nmt_cli.training.saving import Saver
from nmt_cli.training.state import Progress
from nmt_cli.training.stopping import StopRequest
from nmt_cli.training.trained import Trained
from nmt_cli.training.update import TakenUpdate, UpdateResult, ready_updates, take_update
from nmt_cli.training.validation import ValidationResult, Validator

MOST_SKIPPED_IN_A_ROW = 20
MOST_UNREAD = 20
"""Updates that a GPU may be ahead of what is known here; not more than may be skipped in a row."""


def train(
    run: RunFolder,
    trained: Trained,
    progress: Progress,
    *,
    validator: Validator | None,
    reporter: Reporter,
    stop: StopRequest,
    ranks: Ranks,
    limit: MicroBatchLimit,
) -> Progress:
    """Train until max_steps, patience or a request to stop; return how far it came. Rank 0 does this.

    Raises:
        DivergedError: the gradient was not finite many times in a row.
        StoppedError: on request, after a checkpoint was saved.
    """
    config = trained.settings.training
    gradient = Gradient(trained.model)
    unread: list[TakenUpdate] = []
    trained.model.train()
    with Saver(run, trained) as saver:
        planned = planned_updates(trained.corpus, config, progress.cursor)
        for update in ready_updates(trained, planned, ranks=ranks, limit=limit):
            is_over = update.step > config.max_steps or out_of_patience(progress, config) or stop.exit_code is not None
            if not ranks.lead_says(not is_over):
                break
            unread.append(take_update(trained, gradient, update, ranks=ranks, limit=limit, warn=reporter.warned))
            if not is_time_to_read(unread, config, reporter, ranks.device):
                continue
            progress = read_updates(unread, progress, run=run, reporter=reporter, ranks=ranks, limit=limit)

            if validator is not None and validation_is_due(progress.step, config):
                with trained.shown():
                    result = validator.validate(trained.model, ranks)
                progress = judged(progress, result, config)
                reporter.validated(progress, result)
            reason = reason_to_save(progress, config, reporter)
            if reason is not None:
                saver.save(progress, reason=reason)
                reporter.saved(progress, reason)
        progress = read_updates(unread, progress, run=run, reporter=reporter, ranks=ranks, limit=limit)
        if stop.exit_code is not None:
            if progress.step and not saver.has_saved(progress.step):
                saver.save(progress, reason="stop")
                saver.finish()  # what comes of it is not to be lost behind the error below
                reporter.saved(progress, "stop")
            raise StoppedError(f"stopped at step {progress.step:,}; the same command goes on", exit_code=stop.exit_code)
    return progress


def is_time_to_read(
    unread: list[TakenUpdate], config: TrainingConfig, reporter: Reporter, device: torch.device
) -> bool:
    """Tell whether to wait for the device: for a report, a validation or a checkpoint, or lest too much is unknown."""
    step = unread[-1].update.step
    return (
        device.type == "cpu"
        or len(unread) >= MOST_UNREAD
        or any(step % steps == 0 for steps in (config.report_every_steps, config.save_every_steps))
        or validation_is_due(step, config)
        or reporter.minutes_since_save >= (config.save_every_minutes or math.inf)
    )


def read_updates(
    unread: list[TakenUpdate],
    progress: Progress,
    *,
    run: RunFolder,
    reporter: Reporter,
    ranks: Ranks,
    limit: MicroBatchLimit,
) -> Progress:
    """Return the progress after updates that were taken, each reported; none of them is unread any more.

    Raises:
        DivergedError: the gradient was not finite many times in a row.
    """
    progress = progress.model_copy(update={"micro_batch_tokens": limit.tokens, "device": ranks.device.type})
    with ranks.standing.waiting():  # what ranks sum on GPUs hangs there when one of them is lost
        results = [taken.result() for taken in unread]
    for taken, result in zip(unread, results, strict=True):
        progress = advanced(progress, taken.update.cursor, result, seconds=reporter.lap(), n_devices=ranks.world_size)
        reporter.updated(progress, result, taken.update.drawn)
        refuse_divergence(run, progress)
    unread.clear()
    return progress


def validation_is_due(step: int, config: TrainingConfig) -> bool:
    """Tell whether all ranks validate after a step."""
    return step % config.validate_every_steps == 0 or step >= config.max_steps


def planned_updates(corpus: EncodedCorpus, config: TrainingConfig, cursor: Cursor) -> Iterator[tuple[Indices, Cursor]]:
    """Yield the pairs of each update from a cursor on, with the cursor that stands after it, without end.

    Raises:
        DataError: no pair fits into max_length.
    """
    step, epoch, done = cursor.step, cursor.epoch, cursor.update_in_epoch
    while True:
        plan = plan_of(corpus, config, epoch=epoch)
        if not plan.updates:
            raise DataError(
                f"no training pair has at most {config.max_length} tokens a side; raise training.max_length"
            )
        for pairs in plan.updates[done:]:
            step, done = step + 1, done + 1
            at_end = done == len(plan.updates)
            yield pairs, Cursor(step, epoch + 1 if at_end else epoch, 0 if at_end else done)
        epoch, done = epoch + 1, 0


def advanced(progress: Progress, cursor: Cursor, update: UpdateResult, *, seconds: float, n_devices: int) -> Progress:
    """Return the progress after one more update, which was skipped unless it was finite."""
    return progress.model_copy(
        update={
            "step": cursor.step,
            "epoch": cursor.epoch,
            "update_in_epoch": cursor.update_in_epoch,
            "skipped_in_all": progress.skipped_in_all + (not update.finite),
            "skipped_in_a_row": 0 if update.finite else progress.skipped_in_a_row + 1,
            "seconds": progress.seconds + seconds,
            "device_seconds": progress.device_seconds + seconds * n_devices,
            "model_flops": progress.model_flops + update.loss.model_flops,
        }
    )


def refuse_divergence(run: RunFolder, progress: Progress) -> None:
    """End a run whose gradient stays non-finite.

    Raises:
        DivergedError: naming the last good checkpoint.
    """
    if progress.skipped_in_a_row >= MOST_SKIPPED_IN_A_ROW:
        raise DivergedError(
            f"{run.path}: the gradient was not finite {MOST_SKIPPED_IN_A_ROW} times in a row, up to step "
            f"{progress.step:,}; {run.last_good}; try a smaller learning rate or a longer warm-up"
        )


def judged(progress: Progress, result: ValidationResult, config: TrainingConfig) -> Progress:
    """Return the progress with a validation counted towards best and patience."""
    scores = {name: value for name, value in result.scores.items() if isinstance(value, str) or math.isfinite(value)}
    progress = progress.model_copy(update={"scores": scores})
    score = result.bleu.score if config.best_by == "bleu" else -result.plain_loss
    if math.isfinite(score) and (progress.best_score is None or score > progress.best_score):
        return progress.model_copy(
            update={"best_score": score, "best_step": progress.step, "validations_since_best": 0}
        )
    return progress.model_copy(update={"validations_since_best": progress.validations_since_best + 1})


def out_of_patience(progress: Progress, config: TrainingConfig) -> bool:
    """Tell whether there were `patience` validations without a better one."""
    return config.patience is not None and progress.validations_since_best >= config.patience


def reason_to_save(progress: Progress, config: TrainingConfig, reporter: Reporter) -> str | None:
    """Return why a checkpoint is due now: its turn, the end, or the best so far."""
    minutes = config.save_every_minutes
    if progress.step % config.save_every_steps == 0 or (minutes and reporter.minutes_since_save >= minutes):
        return "turn"
    if progress.step >= config.max_steps or out_of_patience(progress, config):
        return "end"
    return "best" if progress.best_step == progress.step else None
