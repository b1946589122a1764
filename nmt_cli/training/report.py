"""What a run tells while it goes on: its plan, each report, each validation; on stderr, log.txt, metrics.jsonl."""

from __future__ import annotations

import math
import time

from nmt_cli.batches.plan import Indices, plan_of
from nmt_cli.model.transformer import parameter_count
from nmt_cli.training.checkpoint import Trained
from nmt_cli.training.gradient import UpdateResult
from nmt_cli.training.progress import Meter, RunLog, duration
from nmt_cli.training.run_folder import RunFolder
from nmt_cli.training.state import Progress
from nmt_cli.training.validation import ValidationResult

N_SAMPLES = 3
N_PAIRS_NAMED = 8


class Reporter:
    """Counts what happens and tells it at the right moments."""

    def __init__(self, run: RunFolder, trained: Trained, log: RunLog) -> None:
        """Count from now on."""
        self._run, self._trained, self._log = run, trained, log
        self._meter = Meter()
        self._lap = self._saved = self._updated = time.perf_counter()

    @property
    def minutes_since_save(self) -> float:
        """Minutes since the last checkpoint of this process, or its start."""
        return (time.perf_counter() - self._saved) / 60

    def lap(self) -> float:
        """Return the seconds since the last call."""
        now = time.perf_counter()
        seconds, self._lap = now - self._lap, now
        return seconds

    def started(self, progress: Progress) -> None:
        """Tell what is about to be trained, on what and for how long."""
        settings, pieces, corpus = self._trained.settings, self._trained.pieces, self._trained.corpus
        config = settings.training
        plan = plan_of(corpus, config, epoch=0)
        n_used = sum(len(pairs) for pairs in plan.updates)
        n_target = sum(int(corpus.target.lengths[pairs].sum()) for pairs in plan.updates)
        n_updates = max(len(plan.updates), 1)
        self._log.line(
            f"{parameter_count(self._trained.model):,} parameters, reading {settings.model.reading}, "
            f"vocabulary {pieces.source_vocab_size:,} and {pieces.target_vocab_size:,}"
        )
        self._log.line(
            f"{n_used:,} pairs ({plan.n_too_long:,} longer than {config.max_length} tokens left out), "
            f"{n_updates:,} updates an epoch of {n_target / n_updates:,.0f} target tokens, "
            f"{config.max_steps:,} steps = {config.max_steps / n_updates:.1f} epochs"
        )
        if progress.step:
            self._log.line(f"goes on after step {progress.step:,}, epoch {progress.epoch}")

    def updated(self, progress: Progress, update: UpdateResult, pairs: Indices) -> None:
        """Count an update, and report when it is time."""
        meter, loss = self._meter, update.loss
        meter.updates += 1
        meter.source_tokens += loss.source_tokens
        meter.target_tokens += loss.target_tokens
        meter.positions += loss.positions
        self._updated = time.perf_counter()
        config = self._trained.settings.training
        if update.finite:
            meter.smoothed += loss.smoothed
            meter.plain += loss.plain
            meter.loss_tokens += loss.target_tokens
        else:
            named = ", ".join(str(pair) for pair in pairs[:N_PAIRS_NAMED])
            more = f" and {len(pairs) - N_PAIRS_NAMED} more" if len(pairs) > N_PAIRS_NAMED else ""
            self._log.line(f"step {progress.step:,}: loss or gradient not finite, skipped; pairs {named}{more}")
        self._log.step(progress.step, config.max_steps, f"loss {loss.smoothed / loss.target_tokens:.3f}")
        if progress.step % config.report_every_steps == 0 or progress.step == config.max_steps:
            self._report(progress, rate=update.learning_rate, norm=update.gradient_norm)

    def _report(self, progress: Progress, *, rate: float, norm: float) -> None:
        meter = self._meter
        seconds = max(meter.seconds, 1e-9)
        losses = (meter.smoothed, meter.plain)
        smoothed, plain = (loss / meter.loss_tokens if meter.loss_tokens else math.nan for loss in losses)
        tokens = meter.source_tokens + meter.target_tokens
        perplexity = math.exp(min(plain, 700.0))
        padding = 1 - tokens / meter.positions
        max_steps = self._trained.settings.training.max_steps
        left = (max_steps - progress.step) * seconds / meter.updates
        self._log.line(
            f"step {progress.step:,}/{max_steps:,}  epoch {progress.epoch}  loss {smoothed:.4f}  ppl {perplexity:.2f}  "
            f"lr {rate:.3g}  norm {norm:.2f}  {tokens / seconds:,.0f} tokens/s  padding {padding:.1%}  "
            f"{duration(left)} left"
        )
        self._run.append_metrics(
            {
                "kind": "training",
                "step": progress.step,
                "epoch": progress.epoch,
                "loss_nats": smoothed,
                "plain_loss_nats": plain,
                "perplexity": perplexity,
                "learning_rate": rate,
                "gradient_norm": norm,
                "source_tokens_per_second": meter.source_tokens / seconds,
                "target_tokens_per_second": meter.target_tokens / seconds,
                "padding_share": padding,
                "skipped_in_all": progress.skipped_in_all,
                "seconds": progress.seconds,
            }
        )
        meter.reset()

    def validated(self, progress: Progress, result: ValidationResult) -> None:
        """Tell a validation, with some of its translations."""
        best = "  best" if progress.best_step == progress.step else ""
        self._log.line(
            f"step {progress.step:,}: validation loss {result.smoothed_loss:.4f}  ppl {result.perplexity:.2f} over "
            f"{len(result.hypotheses):,} pairs, {result.target_tokens:,} tokens  {result.bleu}{best}"
        )
        for hypothesis in result.hypotheses[:N_SAMPLES]:
            self._log.line(f"  sample: {hypothesis}")
        self._run.append_metrics(
            {"kind": "validation", "step": progress.step, "epoch": progress.epoch}
            | result.scores
            | {"validation_tokens": result.target_tokens, "seconds": progress.seconds}
        )
        self._meter.leave_out_since(self._updated)
        self._updated = time.perf_counter()

    def saved(self, progress: Progress, reason: str) -> None:
        """Note that a checkpoint has just been written."""
        self._meter.leave_out_since(self._updated)
        self._saved = self._updated = time.perf_counter()
        if reason != "turn":
            self._log.line(f"step {progress.step:,}: saved ({reason})")
