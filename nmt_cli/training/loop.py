"""The training loop, in the order in which it happens (paper, section 5)."""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch

from nmt_cli.batches.corpus import EncodedCorpus
from nmt_cli.batches.plan import Cursor, Indices, plan_of
from nmt_cli.config import TrainingConfig
from nmt_cli.decoding.engine import enough_memory
from nmt_cli.errors import DataError, DivergedError, StoppedError
from nmt_cli.training.checkpoint import Trained, save_checkpoint
from nmt_cli.training.gradient import Gradient, UpdateResult, accumulate_gradient
from nmt_cli.training.ranks import Ranks
from nmt_cli.training.report import Reporter
from nmt_cli.training.run_folder import RunFolder
from nmt_cli.training.schedule import learning_rate
from nmt_cli.training.state import Progress
from nmt_cli.training.stopping import StopRequest
from nmt_cli.training.validation import ValidationResult, Validator

MOST_SKIPPED_IN_A_ROW = 20
LESS_MEMORY = "give fewer --ranks, or begin another --run with a smaller training.micro_batch_tokens"


def train(
    run: RunFolder,
    trained: Trained,
    progress: Progress,
    *,
    validator: Validator | None,
    reporter: Reporter,
    stop: StopRequest,
    ranks: Ranks,
) -> Progress:
    """Train until max_steps, patience or a request to stop; return how far it came. Rank 0 does this.

    Raises:
        DivergedError: the gradient was not finite many times in a row.
        StoppedError: on request, after a checkpoint was saved.
    """
    config = trained.settings.training
    gradient = Gradient(trained.model)
    trained.model.train()
    for pairs, cursor in planned_updates(trained.corpus, config, progress.cursor):
        is_over = progress.step >= config.max_steps or out_of_patience(progress, config) or stop.exit_code is not None
        if not ranks.lead_says(not is_over):
            break
        update = take_update(trained, gradient, pairs, step=cursor.step, ranks=ranks)
        progress = advanced(progress, cursor, update, seconds=reporter.lap(), n_devices=ranks.world_size)
        reporter.updated(progress, update, pairs)
        refuse_divergence(run, progress)

        result = None
        last = progress.step >= config.max_steps
        if validator is not None and (last or progress.step % config.validate_every_steps == 0):
            result = validator.validate(trained.model)
            progress = judged(progress, result, config)
            reporter.validated(progress, result)
        reason = reason_to_save(progress, config, reporter)
        if reason is not None:
            save_checkpoint(run, trained, progress, reason=reason)
            reporter.saved(progress, reason)
    if stop.exit_code is not None:
        if progress.step and progress.step not in run.steps():
            save_checkpoint(run, trained, progress, reason="stop")
            reporter.saved(progress, "stop")
        raise StoppedError(f"stopped at step {progress.step:,}; the same command goes on", exit_code=stop.exit_code)
    return progress


def take_update(trained: Trained, gradient: Gradient, pairs: Indices, *, step: int, ranks: Ranks) -> UpdateResult:
    """Change the weights by one update, the same on every rank; leave them if its gradient is not finite.

    Raises:
        MachineError: not enough memory, or a rank was lost.
    """
    settings = trained.settings
    rate = learning_rate(step, settings.training, d_model=settings.model.d_model)
    gradient.clear()
    corpus, pairs = trained.corpus_of_update(pairs, step)
    ranks.standing.begins(step, pairs, corpus)
    with enough_memory(f"step {step:,}", LESS_MEMORY):
        loss = accumulate_gradient(trained.model, corpus, pairs, settings.training, step=step, ranks=ranks)
    loss = gradient.sum_over(ranks, loss)
    norm = clip_gradient(trained, settings.training.clip_norm)
    finite = math.isfinite(loss.smoothed) and math.isfinite(norm)
    if finite:
        for group in trained.optimizer.param_groups:
            group["lr"] = rate
        trained.optimizer.step()
    return UpdateResult(loss, learning_rate=rate, gradient_norm=norm, finite=finite)


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


def clip_gradient(trained: Trained, clip_norm: float | None) -> float:
    """Scale the gradient down to at most `clip_norm`, if any; return its norm before."""
    return float(torch.nn.utils.clip_grad_norm_(trained.model.parameters(), clip_norm or math.inf))


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
        steps = run.steps()
        good = f"the last good checkpoint is {run.checkpoint(steps[-1])}" if steps else "there is no checkpoint yet"
        raise DivergedError(
            f"{run.path}: the gradient was not finite {MOST_SKIPPED_IN_A_ROW} times in a row, up to step "
            f"{progress.step:,}; {good}; try a smaller learning rate or a longer warm-up"
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
