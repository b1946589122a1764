"""What a report says, against a clock and updates made by hand."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from nmt_cli.batches.plan import Cursor
from nmt_cli.batches.training_data import open_training_data
from nmt_cli.model.packing import one_sentence_at_a_time
from nmt_cli.training import gradient, update
from nmt_cli.training.gradient import Gradient
from nmt_cli.training.loop import planned_updates
from nmt_cli.training.memory import MicroBatchLimit
from nmt_cli.training.progress import RunLog, peak_memory
from nmt_cli.training.ranks import Ranks
from nmt_cli.training.report import Reporter, shortened
from nmt_cli.training.run_folder import RunFolder
from nmt_cli.training.start import run_training
from nmt_cli.training.state import Progress
from nmt_cli.training.trained import Trained
from nmt_cli.training.update import UpdateLoss, UpdateResult
from nmt_cli.training.validation import sample_places

LOSS = UpdateLoss(
    smoothed=300.0, plain=200.0, source_tokens=90, target_tokens=100, positions=200, model_flops=6_000_000
)


class Clock:
    """Time that passes when the test says so."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Take the place of the clock that reports look at."""
        self.now = 1000.0
        monkeypatch.setattr(time, "perf_counter", lambda: self.now)

    def passes(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


class Told:
    """A reporter on made-up updates, and what it wrote."""

    def __init__(self, toy: Any, run: RunFolder, reporter: Reporter) -> None:  # noqa: ANN401
        """Begin at step 0."""
        self._toy, self._run, self.reporter, self._step = toy, run, reporter, 0

    def update(self, loss: UpdateLoss = LOSS, *, finite: bool = True) -> None:
        self._step += 1
        result = UpdateResult(loss, learning_rate=0.00123456, gradient_norm=2.0, finite=finite)
        self.reporter.updated(Progress(step=self._step, model_flops=self._step), result, np.arange(3))

    @property
    def lines(self) -> list[str]:
        return [str(line) for line in self._toy.log(self._run.path)]

    @property
    def records(self) -> list[dict[str, Any]]:
        return list(self._toy.metrics(self._run.path, "training"))


@pytest.fixture
def tell(toy: Any, tmp_path: Path) -> Iterator[Callable[..., Told]]:  # noqa: ANN401
    run = RunFolder(tmp_path / "run")
    run.create()
    pieces = open_training_data(toy.corpus)
    with RunLog(run.log, quiet=True) as log:

        def begin(*assignments: str) -> Told:
            trained = Trained.new(pieces, toy.settings(*assignments), device=torch.device("cpu"))
            return Told(toy, run, Reporter(run, trained, log))

        yield begin


def test_a_report_has_every_figure_on_one_line(tell: Callable[..., Told], clock: Clock) -> None:
    told = tell("training.max_steps=5000", "training.report_every_steps=2")
    clock.passes(3.0)
    told.update()
    clock.passes(1.0)
    told.update(LOSS._replace(smoothed=100.0, plain=100.0, source_tokens=70, target_tokens=100))
    [line] = told.lines
    # 400 and 300 nats over 200 tokens; 160 and 200 tokens in 4 s; 360 of 400 positions; 4,998 times 2 s.
    memory = r"(\d+\.\d\d) GB"
    expected = r"step 2/5,000  epoch 0  loss 2\.0000  ppl 4\.48  lr 0\.00123  norm 2\.00  40\+50 tokens/s  "
    match = re.fullmatch(rf"{expected}padding 10\.0%  {memory}  2 h 47 min left", line)
    assert match, line
    [record] = told.records
    assert record["perplexity"] == pytest.approx(math.exp(1.5))
    assert (record["loss_nats"], record["plain_loss_nats"]) == (2.0, 1.5)
    assert (record["source_tokens_per_second"], record["target_tokens_per_second"]) == (40.0, 50.0)
    assert (record["model_flops_per_second"], record["model_flops"]) == (3_000_000.0, 2)
    assert record["padding_share"] == pytest.approx(0.1)
    assert float(match[1]) == pytest.approx(record["memory_bytes"] / 1e9, abs=0.005)
    assert len(line) < 140


def test_updates_told_of_late_and_all_at_once_have_the_same_speed(tell: Callable[..., Told], clock: Clock) -> None:
    told = tell("training.report_every_steps=4")
    for _ in range(2):
        clock.passes(8.0)
        for _ in range(4):
            told.update()
    assert [record["target_tokens_per_second"] for record in told.records] == [50.0, 50.0]
    assert [record["source_tokens_per_second"] for record in told.records] == [45.0, 45.0]


def test_the_time_of_validation_and_saving_slows_no_speed(tell: Callable[..., Told], clock: Clock) -> None:
    told = tell("training.report_every_steps=2", "training.max_steps=4")
    clock.passes(2.0)
    told.update()
    clock.passes(500.0)
    told.reporter.saved(Progress(step=1), "turn")
    clock.passes(2.0)
    told.update()
    [record] = told.records
    assert record["target_tokens_per_second"] == 50.0
    assert told.lines[0].endswith(" 4 s left")


def test_a_skipped_update_costs_time_and_has_no_part_in_the_loss(tell: Callable[..., Told], clock: Clock) -> None:
    told = tell("training.report_every_steps=2")
    clock.passes(2.0)
    told.update()
    told.update(LOSS._replace(smoothed=math.nan, plain=math.nan), finite=False)
    [record] = told.records
    assert (record["loss_nats"], record["target_tokens_per_second"]) == (3.0, 100.0)
    assert told.lines[0] == "step 2: loss or gradient not finite, skipped; pairs 0, 1, 2"


def test_memory_is_the_peak_of_this_process(tmp_path: Path) -> None:
    cpu = torch.device("cpu")
    status = tmp_path / "status"
    status.write_text("Name:\tx\nVmPeak:\t 9000 kB\nVmHWM:\t    2000 kB\nVmRSS:\t 1500 kB\n")
    assert peak_memory(cpu, status) == 2_048_000
    held = np.ones(200_000_000, dtype=np.uint8)
    assert peak_memory(cpu) > held.nbytes
    assert held.nbytes < peak_memory(cpu, tmp_path / "no /proc here") < 1 << 40


@pytest.mark.gpu
def test_memory_on_a_gpu_is_that_of_its_tensors() -> None:
    device = torch.device("cuda")
    torch.cuda.reset_peak_memory_stats(device)
    before = torch.cuda.memory_allocated(device)
    held = torch.ones(50_000_000, device=device)
    assert peak_memory(device) >= before + 4 * held.numel()


@pytest.mark.parametrize(("n_pairs", "places"), [(1, [0]), (2, [0, 1]), (3, [0, 1, 2]), (1000, [0, 500, 999])])
def test_samples_are_first_middle_and_last(n_pairs: int, places: list[int]) -> None:
    assert sample_places(n_pairs) == places


def test_every_validation_shows_the_same_three_pairs_in_plain_text(toy: Any, whole_run: Path) -> None:  # noqa: ANN401
    sources, references = toy.sentences(13, seed=2)
    shown = toy.log(whole_run)
    validations = [n for n, line in enumerate(shown) if ": validation loss " in line]
    assert len(validations) == 2
    for first in validations:
        assert re.match(r"step \d+: validation loss \d+\.\d{4}  ppl [\d.]+ over 13 pairs, \d+ tokens", shown[first])
        assert re.fullmatch(r"  sacreBLEU [\d.]+  detokenised, cased  \[nrefs:1\|.*\|tok:13a\|.*\]", shown[first + 1])
        assert re.fullmatch(r"  chrF2 [\d.]+  characters, cased  \[nrefs:1\|.*\|nc:6\|nw:0\|.*\]", shown[first + 2])
        for number, place in enumerate([0, 6, 12], start=1):
            source, reference, hypothesis = shown[first + 3 * number : first + 3 * number + 3]
            assert source == f"  {number} source      {sources[place]}"
            assert reference == f"    reference   {references[place]}"
            assert hypothesis.startswith("    hypothesis  ")


def test_a_long_sentence_and_one_that_turns_the_line_around_are_shown_on_one_line_each(
    toy: Any,  # noqa: ANN401
    tmp_path: Path,
    make_corpus: Callable[..., Path],
) -> None:
    corpus = make_corpus("own", train=toy.sentences(30, seed=3), valid=(["zu\u202e wi"], ["ba " * 60 + "end"]))
    settings = toy.settings("training.max_steps=1", "training.validate_every_steps=1")
    run_training(corpus, tmp_path / "run", settings, quiet=True)
    log = toy.log(tmp_path / "run")
    assert r"  1 source      zu\u202e wi" in log
    assert f"    reference   {'ba ' * 33}…" in log


def test_a_sentence_is_cut_to_a_hundred_characters_after_it_was_made_visible() -> None:
    assert shortened("x" * 100) == "x" * 100
    assert shortened("x" * 101) == "x" * 99 + "…"
    assert shortened("\x01" * 30) == r"\x01" * 24 + r"\x0" + "…"


@pytest.mark.parametrize("kernel", [None, one_sentence_at_a_time])
def test_an_update_of_packed_sentences_has_no_padding_and_any_other_all_of_it(
    toy: Any,  # noqa: ANN401
    monkeypatch: pytest.MonkeyPatch,
    kernel: object,
) -> None:
    for module in (update, gradient):
        monkeypatch.setattr(module, "kernel_for", lambda _model: kernel)
    settings = toy.settings("model.attention_dropout=0")
    trained = Trained.new(open_training_data(toy.corpus), settings, device=torch.device("cpu"))
    pairs, cursor = next(planned_updates(trained.corpus, settings.training, Cursor()))
    limit, ranks = MicroBatchLimit(150), Ranks()
    ready = update.prepared(trained, pairs, cursor, ranks=ranks, limit=limit)
    loss = update.take_update(trained, Gradient(trained.model), ready, ranks=ranks, limit=limit).result().loss
    sides = [side for _, batch in ready.micro_batches for side in (batch.source, batch.target_out)]
    padded, real = sum(side.size for side in sides), sum(np.count_nonzero(side) for side in sides)
    assert padded > real
    assert loss.positions == (padded if kernel is None else real)
    assert loss.source_tokens + loss.target_tokens == real
