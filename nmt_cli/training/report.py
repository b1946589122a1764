"""What a run tells while it goes on: its plan, each report, each validation; on stderr, log.txt, metrics.jsonl.

Tokens, losses and FLOPs are those of whole updates, whatever number of processes shared them; memory is
that of the lead, which reports.
"""

from __future__ import annotations

import math
import time

import numpy as np

from nmt_cli.batches.plan import Indices, plan_of
from nmt_cli.files import visible
from nmt_cli.model.flops import MultiplyAdds
from nmt_cli.model.transformer import parameter_count
from nmt_cli.training.cost import Cost, scientific
from nmt_cli.training.progress import Meter, RunLog, duration, peak_memory
from nmt_cli.training.run_folder import RunFolder
from nmt_cli.training.state import Progress
from nmt_cli.training.tensorboard import Curves
from nmt_cli.training.trained import Trained
from nmt_cli.training.update import UpdateResult
from nmt_cli.training.validation import ValidationResult

N_PAIRS_NAMED = 8
SAMPLE_WIDTH = 100
"""Characters of a sentence that are shown."""


class Reporter:
    """Counts what happens and tells it at the right moments.

    Speeds come from the time between reports, without that of validation and saving, so updates may be told
    of late and many at once; before a report, a validation or a checkpoint, those before it must have been.
    """

    def __init__(self, run: RunFolder, trained: Trained, log: RunLog, curves: Curves | None = None) -> None:
        """Count from now on."""
        self._run, self._trained, self._log, self._curves = run, trained, log, curves
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
        """Tell what is about to be trained, on what, for how long and at what cost."""
        model, settings, pieces = self._trained.model, self._trained.settings, self._trained.pieces
        self._log.line(
            f"{parameter_count(model):,} parameters, reading {settings.model.reading}, "
            f"precision {self._precision()}, "
            f"vocabulary {pieces.source_vocab_size:,} and {pieces.target_vocab_size:,}"
        )
        self._tell_plan()
        if progress.step:
            self._log.line(f"goes on after step {progress.step:,}, epoch {progress.epoch}")
        if self._curves is not None:
            self._curves.begin_after(progress.step)

    def _precision(self) -> str:
        model = self._trained.model
        return str(model.precision or model.output.weight.dtype).removeprefix("torch.")

    def _tell_plan(self) -> None:
        config, corpus = self._trained.settings.training, self._trained.corpus
        plan = plan_of(corpus, config, epoch=0)
        used = np.concatenate([np.empty(0, dtype=np.int64), *plan.updates])
        source, target = corpus.source.lengths[used], corpus.target.lengths[used]
        n_updates = max(len(plan.updates), 1)
        multiply_adds = MultiplyAdds.of(
            self._trained.settings.model, target_vocab_size=self._trained.pieces.target_vocab_size
        )
        of_update = multiply_adds.training_flops(source, target) / n_updates
        self._log.line(
            f"{len(used):,} pairs ({plan.n_too_long:,} longer than {config.max_length} tokens left out), "
            f"{n_updates:,} updates an epoch of {source.sum() / n_updates:,.0f} source and "
            f"{target.sum() / n_updates:,.0f} target tokens"
        )
        self._log.line(
            f"{config.max_steps:,} steps = {config.max_steps / n_updates:.1f} epochs; model FLOPs: "
            f"{scientific(of_update)} an update, {scientific(of_update * config.max_steps)} in all"
        )

    def warned(self, text: str) -> None:
        """Tell what somebody should know."""
        self._log.line(text)

    def updated(self, progress: Progress, update: UpdateResult, pairs: Indices) -> None:
        """Count an update, and report when it is time."""
        meter, loss = self._meter, update.loss
        meter.updates += 1
        meter.source_tokens += loss.source_tokens
        meter.target_tokens += loss.target_tokens
        meter.positions += loss.positions
        meter.model_flops += loss.model_flops
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
        source, target = meter.source_tokens / seconds, meter.target_tokens / seconds
        perplexity = math.exp(min(plain, 700.0))
        padding = 1 - (meter.source_tokens + meter.target_tokens) / meter.positions
        memory = peak_memory(self._trained.model.output.weight.device)
        max_steps = self._trained.settings.training.max_steps
        left = (max_steps - progress.step) * seconds / meter.updates
        self._log.line(
            f"step {progress.step:,}/{max_steps:,}  epoch {progress.epoch}  loss {smoothed:.4f}  ppl {perplexity:.2f}  "
            f"lr {rate:.3g}  norm {norm:.2f}  {source:,.0f}+{target:,.0f} tokens/s  padding {padding:.1%}  "
            f"{memory / 1e9:.2f} GB  {duration(left)} left"
        )
        self._record(
            progress,
            kind="training",
            loss_nats=smoothed,
            plain_loss_nats=plain,
            perplexity=perplexity,
            learning_rate=rate,
            gradient_norm=norm,
            source_tokens_per_second=source,
            target_tokens_per_second=target,
            padding_share=padding,
            memory_bytes=memory,
            model_flops_per_second=meter.model_flops / seconds,
            model_flops=progress.model_flops,
            skipped_in_all=progress.skipped_in_all,
        )
        meter.reset()

    def validated(self, progress: Progress, result: ValidationResult) -> None:
        """Tell a validation, with some of its translations."""
        best = "  best" if progress.best_step == progress.step else ""
        self._log.line(
            f"step {progress.step:,}: validation loss {result.smoothed_loss:.4f}  ppl {result.perplexity:.2f} over "
            f"{len(result.hypotheses):,} pairs, {result.target_tokens:,} tokens{best}"
        )
        self._log.line(f"  {result.bleu}")
        self._log.line(f"  {result.chrf}")
        for number, sample in enumerate(result.samples, start=1):
            self._log.line(f"  {number} source      {shortened(sample.source)}")
            self._log.line(f"    reference   {shortened(sample.reference)}")
            self._log.line(f"    hypothesis  {shortened(sample.hypothesis)}")
        self._record(progress, kind="validation", **result.scores, validation_tokens=result.target_tokens)
        self._meter.leave_out_since(self._updated)
        self._updated = time.perf_counter()

    def saved(self, progress: Progress, reason: str) -> None:
        """Note that a checkpoint has just been written."""
        self._meter.leave_out_since(self._updated)
        self._saved = self._updated = time.perf_counter()
        if reason != "turn":
            self._log.line(f"step {progress.step:,}: saved ({reason})")

    def ended(self, progress: Progress) -> None:
        """Tell what the run cost, from its first update on."""
        rate = self._trained.settings.machine.sustained_tflops
        cost = Cost(progress.device_seconds, progress.model_flops, rate)
        self._log.line(str(cost))
        self._record(progress, kind="cost", **cost.record)

    def _record(self, progress: Progress, *, kind: str, **values: object) -> None:
        where = {"kind": kind, "step": progress.step, "epoch": progress.epoch}
        record = where | values | {"seconds": progress.seconds}
        self._run.append_metrics(record)
        if self._curves is not None:
            self._curves.add(record)


def shortened(sentence: str) -> str:
    """Return a sentence as the log shows it, cut to its width."""
    shown = visible(sentence)
    return shown if len(shown) <= SAMPLE_WIDTH else shown[: SAMPLE_WIDTH - 1] + "…"
