"""The cost of a training: the paper's two figures, and the arithmetic of the updates that were done."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from nmt_cli.batches.corpus import open_pieces
from nmt_cli.batches.plan import Cursor, plan_epoch
from nmt_cli.files import read_json
from nmt_cli.training.cost import Cost, scientific
from nmt_cli.training.loop import advanced
from nmt_cli.training.start import run_training
from nmt_cli.training.state import Progress
from nmt_cli.training.update import UpdateResult


@pytest.mark.parametrize(
    ("hours", "tflops", "shown"),
    [(12, 9.5, "3.28e18"), (3.5 * 24, 9.5, "2.30e19"), (12, 2.8, "9.68e17"), (12, 3.7, "1.28e18"), (12, 6, "2.07e18")],
)
def test_eight_gpus_cost_what_table_2_says(hours: float, tflops: float, shown: str) -> None:
    cost = Cost(hours * 3600 * 8, model_flops=0, sustained_tflops=tflops)
    assert f"x {tflops:g} TFLOP/s = {shown} as the paper counts" in str(cost)
    assert cost.record["paper_flops"] == pytest.approx(hours * 3600 * 8 * tflops * 1e12)


def test_without_a_stated_rate_only_the_model_s_own_arithmetic_is_told() -> None:
    cost = Cost(7_200.0, model_flops=123_456, sustained_tflops=None)
    assert cost.record == {"device_seconds": 7_200.0, "model_flops": 123_456}
    assert str(cost) == (
        "cost: 1.23e5 model FLOPs; 2 h 0 min of devices; machine.sustained_tflops gives the paper's count too"
    )


def test_time_counts_once_for_each_device_and_skipped_updates_count_too() -> None:
    done = cast("UpdateResult", SimpleNamespace(finite=True, loss=SimpleNamespace(model_flops=10)))
    skipped = cast("UpdateResult", SimpleNamespace(finite=False, loss=SimpleNamespace(model_flops=7)))
    progress = advanced(Progress(), Cursor(1, 0, 1), done, seconds=2.0, n_devices=8)
    progress = advanced(progress, Cursor(2, 0, 2), skipped, seconds=3.0, n_devices=4)
    assert (progress.seconds, progress.device_seconds, progress.model_flops) == (5.0, 2.0 * 8 + 3.0 * 4, 17)


def flops_by_hand(data: Path, n_updates: int) -> list[int]:
    """Return the model FLOPs of the toy's updates, a pair at a time."""
    train, vocab_size = open_pieces(data).split("train"), open_pieces(data).target_vocab_size
    lengths = train.source.lengths, train.target.lengths
    updates = [
        update
        for epoch in range(3)
        for update in plan_epoch(*lengths, tokens_per_update=266, max_length=256, seed=1, epoch=epoch).updates
    ]
    found = []
    for update in updates[:n_updates]:
        multiply_adds = 0
        for s, t in zip(lengths[0][update].tolist(), lengths[1][update].tolist(), strict=True):
            # d_model 16, d_ff 32, a layer a side: four projections of 256, feed-forward 2 x 512, memory 2 x 256.
            multiply_adds += s * (4 * 256 + 1_024 + 2 * 256) + t * (6 * 256 + 1_024 + 16 * vocab_size)
            multiply_adds += 32 * (s * s + t * s + sum(range(1, t + 1)))  # 16 for the scores, 16 for the values
        found.append(6 * multiply_adds)
    return found


def test_model_flops_are_those_of_the_pairs_of_every_update(toy: Any, whole_run: Path) -> None:  # noqa: ANN401
    by_hand = flops_by_hand(toy.corpus, 24)
    logged = toy.metrics(whole_run, "training")
    assert [record["model_flops"] for record in logged] == [sum(by_hand[: n + 1]) for n in range(24)]
    assert toy.metrics(whole_run, "cost")[-1]["model_flops"] == sum(by_hand)
    assert f"cost: {scientific(sum(by_hand))} model FLOPs; " in toy.log(whole_run)[-1]
    n_updates = len(flops_by_hand(toy.corpus, 10**6)) // 3
    of_update = sum(by_hand[:n_updates]) / n_updates
    shown = f"24 steps = {24 / n_updates:.1f} epochs; model FLOPs: "
    assert f"{shown}{of_update / 1e7:.2f}e7 an update, {of_update * 24 / 1e8:.2f}e8 in all" in toy.log(whole_run)


def test_costs_go_on_where_a_run_stopped(toy: Any, whole_run: Path, tmp_path: Path) -> None:  # noqa: ANN401
    run = tmp_path / "run"
    first = toy.train(run, "training.max_steps=7", "machine.sustained_tflops=2.0")
    last = toy.train(run, "machine.sustained_tflops=0.5")
    whole = read_json(whole_run / "last" / "training" / "state.json", error=ValueError)
    assert last.model_flops == whole["model_flops"] > first.model_flops > 0
    assert last.device_seconds == last.seconds > first.device_seconds > 0
    costs = toy.metrics(run, "cost")
    assert [(cost["step"], cost["sustained_tflops"]) for cost in costs] == [(7, 2.0), (24, 0.5)]
    assert costs[1]["paper_flops"] == pytest.approx(last.device_seconds * 0.5e12)
    assert "paper_flops" not in toy.metrics(whole_run, "cost")[-1]


def test_the_plan_names_tokens_of_both_sides(
    toy: Any,  # noqa: ANN401
    tmp_path: Path,
    make_corpus: Callable[..., Path],
) -> None:
    source, target = ["ba ba", "do", "gu ki le mo"], ["ba", "do gu", "na na na na na na na"]
    corpus = make_corpus("three", train=(source, target))
    pieces = open_pieces(corpus)
    lengths, vocab_size = pieces.split("train"), pieces.target_vocab_size
    settings = toy.settings("training.max_steps=1", "training.tokens_per_update=8000", "training.max_length=7")
    run_training(corpus, tmp_path / "run", settings, quiet=True)
    used = [n for n in range(3) if max(lengths.source.lengths[n], lengths.target.lengths[n]) <= 7]
    assert 0 < len(used) < 3
    n_source, n_target = (sum(side.lengths[n] for n in used) for side in (lengths.source, lengths.target))
    log = toy.log(tmp_path / "run")
    assert any(line.endswith(f"1 updates an epoch of {n_source} source and {n_target} target tokens") for line in log)
    n_layers = 2_160 + 3_216  # 4 or 8 projections of 256, 2 x 512 + 48 of feed-forward, 2 or 3 norms of 32
    assert log[0] == (
        f"{n_layers + 16 * vocab_size:,} parameters, reading paper, precision float32, "
        f"vocabulary {vocab_size} and {vocab_size}"
    )
