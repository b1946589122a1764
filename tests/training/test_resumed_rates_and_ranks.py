"""Rates and checkpoints of a stopped run (report 9); the pairs of one that goes on with more ranks (report 8)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

SIXTY = ("training.max_steps=60", "training.save_every_steps=5", "training.validate_every_steps=1000")


def rates(toy: Any, run: Path) -> list[str]:  # noqa: ANN401
    return [f"{record['learning_rate']:.17g}" for record in toy.metrics(run, "training")]


def when_written(run: Path) -> dict[str, int]:
    return {path.name: (path / "model.json").stat().st_mtime_ns for path in (run / "checkpoints").iterdir()}


@pytest.mark.parametrize("stop", [33, 20])
def test_stopped_in_or_after_warm_up_the_rates_are_the_papers_and_no_checkpoint_is_written_again(
    toy: Any,  # noqa: ANN401
    tmp_path: Path,
    stop: int,
) -> None:
    run = tmp_path / "run"
    toy.train(run, *SIXTY, f"training.max_steps={stop}")
    written = when_written(run)
    assert f"step-{stop:08}" in written
    assert toy.train(run, *SIXTY).step == 60
    # d_model is 16, warm-up 20 steps, the factor one half; steps count from 1.
    by_hand = [0.5 * (16**-0.5 * min(n**-0.5, n * 20**-1.5)) for n in range(1, 61)]
    assert rates(toy, run) == [f"{rate:.17g}" for rate in by_hand]
    assert when_written(run).items() >= written.items()


@pytest.mark.slow
def test_with_another_number_of_ranks_it_goes_on_with_the_same_pairs(toy: Any, tmp_path: Path) -> None:  # noqa: ANN401
    plain = ("model.dropout=0.0", "model.attention_dropout=0.0", "training.validate_every_steps=1000")
    whole, run = tmp_path / "whole", tmp_path / "run"
    toy.train(whole, *plain, "training.max_steps=10")
    toy.train(run, *plain, "training.max_steps=5")
    toy.train(run, *plain, "training.max_steps=10", "machine.ranks=2")
    found, expected = (
        [(record["step"], record["epoch"]) for record in toy.metrics(path, "training")] for path in (run, whole)
    )
    assert found == expected
    losses = [[record["loss_nats"] for record in toy.metrics(path, "training")] for path in (run, whole)]
    # The loss of other pairs would differ in its first digits.
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)
    assert any("2 processes share each update, 1 before" in line for line in toy.log(run))
