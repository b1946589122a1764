"""A gradient that is not finite never enters the weights (report 11)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from nmt_cli.batches.padding import Batch
from nmt_cli.batches.prepared import PreparedUpdate
from nmt_cli.config import TrainingConfig
from nmt_cli.errors import DivergedError, MachineError
from nmt_cli.model_folder import open_model_folder, read_tensors
from nmt_cli.training import gradient, update


@pytest.fixture
def overflow(monkeypatch: pytest.MonkeyPatch) -> Callable[[range], None]:
    """Return a function that sets one weight to 1e38 while the gradients of some steps are worked out."""
    accumulate = update.accumulate_gradient

    def set_steps(steps: range) -> None:
        def poisoned(model: Any, prepared: PreparedUpdate, config: TrainingConfig) -> Any:  # noqa: ANN401
            if prepared.step not in steps:
                return accumulate(model, prepared, config)
            weight = model.encoder_layers[0].feed_forward.outer.weight.data
            before = weight.clone()
            weight[0, :] = 1e38
            result = accumulate(model, prepared, config)
            weight.copy_(before)
            return result

        monkeypatch.setattr(update, "accumulate_gradient", poisoned)

    return set_steps


def tensors(run: Path, step: int) -> dict[str, Any]:
    folder = run / "checkpoints" / f"step-{step:08}"
    return open_model_folder(folder).weights() | {
        f"optimizer {name}": array
        for name, array in read_tensors(folder / "training" / "optimizer.safetensors").items()
    }


@pytest.mark.parametrize("step", [1, 6])
def test_a_bad_update_is_skipped_counted_and_named(
    toy: Any,  # noqa: ANN401
    tmp_path: Path,
    overflow: Callable[[range], None],
    step: int,
) -> None:
    run = tmp_path / "run"
    if step > 1:
        toy.train(run, f"training.max_steps={step - 1}")
        before = tensors(run, step - 1)
    overflow(range(step, step + 1))
    toy.train(run, f"training.max_steps={step}")
    after = tensors(run, step)
    if step > 1:
        assert all(np.array_equal(after[name], before[name]) for name in before)
    assert all(np.isfinite(array).all() for array in after.values())
    [line] = [line for line in toy.log(run) if "not finite" in line]
    assert f"step {step:,}: loss or gradient not finite, skipped; pairs " in line
    assert toy.metrics(run, "training")[-1]["skipped_in_all"] == 1
    assert toy.train(run, f"training.max_steps={step + 1}").skipped_in_a_row == 0
    assert not np.array_equal(tensors(run, step + 1)["source_embedding.weight"], after["source_embedding.weight"])


def test_twenty_bad_updates_in_a_row_end_the_run_and_name_the_last_good_checkpoint(
    toy: Any,  # noqa: ANN401
    tmp_path: Path,
    overflow: Callable[[range], None],
) -> None:
    run = tmp_path / "run"
    overflow(range(7, 100))
    with pytest.raises(DivergedError) as caught:
        toy.train(run, "training.max_steps=50", "training.validate_every_steps=100")
    message = str(caught.value)
    assert "not finite 20 times in a row, up to step 26" in message
    named = Path(message.partition("the last good checkpoint is ")[2].partition(";")[0])
    for folder in (named, *(run / "checkpoints").iterdir()):
        assert all(np.isfinite(array).all() for array in open_model_folder(folder).weights().values())
    assert caught.value.exit_code == 5
    assert "\n" not in message


def test_nineteen_bad_updates_with_a_good_one_between_do_not_end_the_run(
    toy: Any,  # noqa: ANN401
    tmp_path: Path,
    overflow: Callable[[range], None],
) -> None:
    overflow(range(2, 21))
    progress = toy.train(tmp_path / "run")
    assert (progress.step, progress.skipped_in_all, progress.skipped_in_a_row) == (24, 19, 0)


def test_the_count_of_bad_updates_survives_a_stop(
    toy: Any,  # noqa: ANN401
    tmp_path: Path,
    overflow: Callable[[range], None],
) -> None:
    overflow(range(7, 100))
    assert toy.train(tmp_path / "run", "training.max_steps=16").skipped_in_a_row == 10
    with pytest.raises(DivergedError, match="up to step 26"):
        toy.train(tmp_path / "run", "training.max_steps=50", "training.validate_every_steps=100")


def test_the_reported_loss_is_the_mean_over_updates_that_were_not_skipped(
    toy: Any,  # noqa: ANN401
    tmp_path: Path,
    overflow: Callable[[range], None],
) -> None:
    singly, together = ["training.max_steps=6"], ["training.max_steps=6", "training.report_every_steps=3"]
    overflow(range(4, 6))
    for name, settings in (("singly", singly), ("together", together)):
        toy.train(tmp_path / name, *settings)
    alone = toy.metrics(tmp_path / "singly", "training")
    assert [record["loss_nats"] is None for record in alone] == [False] * 3 + [True] * 2 + [False]
    assert [record["gradient_norm"] is None for record in alone] == [False] * 3 + [True] * 2 + [False]
    first, second = toy.metrics(tmp_path / "together", "training")
    assert second["loss_nats"] == alone[5]["loss_nats"]
    assert min(r["loss_nats"] for r in alone[:3]) < first["loss_nats"] < max(r["loss_nats"] for r in alone[:3])


def test_metrics_are_json_whatever_is_skipped(
    toy: Any,  # noqa: ANN401
    tmp_path: Path,
    overflow: Callable[[range], None],
) -> None:
    overflow(range(1, 9))
    toy.train(tmp_path / "run", "training.max_steps=9", "training.report_every_steps=4")
    lines = (tmp_path / "run" / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    records = [json.loads(line, parse_constant=pytest.fail) for line in lines]
    assert [record["step"] for record in records if record["kind"] == "training"] == [4, 8, 9]


@pytest.fixture
def small_memory(monkeypatch: pytest.MonkeyPatch) -> Callable[[int, int], list[int]]:
    """Return a function that gives the machine memory for so many positions a side from a step on.

    It returns a list, to be filled with the positions of each micro-batch that went through from then on.
    """
    real = gradient.batch_loss
    accumulate = update.accumulate_gradient
    now = [0]

    def noting(model: Any, prepared: PreparedUpdate, config: TrainingConfig) -> Any:  # noqa: ANN401
        now[0] = prepared.step
        return accumulate(model, prepared, config)

    def holds(most: int, first_step: int) -> list[int]:
        went_through = []

        def limited(model: Any, batch: Batch, **others: Any) -> Any:  # noqa: ANN401
            positions = max(batch.source.size, batch.target_out.size)
            if now[0] >= first_step and positions > most:
                torch.empty(1 << 58, dtype=torch.uint8)  # what the allocator itself says
            if now[0] >= first_step:
                went_through.append(positions)
            return real(model, batch, **others)

        monkeypatch.setattr(update, "accumulate_gradient", noting)
        monkeypatch.setattr(gradient, "batch_loss", limited)
        return went_through

    return holds


def test_a_lack_of_memory_halves_the_micro_batches_from_then_on(
    toy: Any,  # noqa: ANN401
    tmp_path: Path,
    small_memory: Callable[[int, int], list[int]],
) -> None:
    run = tmp_path / "run"
    went_through = small_memory(40, 7)
    progress = toy.train(run, "training.max_steps=10", "model.dropout=0.0", "model.attention_dropout=0.0")
    assert progress.micro_batch_tokens == 37  # 150, 75, 37
    assert max(went_through) <= 37
    lines = [line for line in toy.log(run) if "out of memory" in line]
    assert [line.partition(" positions")[0] for line in lines] == [
        "step 7: out of memory; at most 75",
        "step 7: out of memory; at most 37",
    ]
    whole = tmp_path / "whole"
    small_memory(10**6, 7)
    toy.train(whole, "training.max_steps=10", "model.dropout=0.0", "model.attention_dropout=0.0")
    for one, other in zip(toy.metrics(run, "training"), toy.metrics(whole, "training"), strict=True):
        assert one["loss_nats"] == pytest.approx(other["loss_nats"], rel=1e-5)
    assert (
        toy.train(run, "training.max_steps=11", "model.dropout=0.0", "model.attention_dropout=0.0").micro_batch_tokens
        == 37
    )


def test_a_lack_of_memory_for_one_pair_is_one_line_and_no_update(
    toy: Any,  # noqa: ANN401
    tmp_path: Path,
    small_memory: Callable[[int, int], list[int]],
) -> None:
    small_memory(2, 7)
    with pytest.raises(MachineError, match=r"^not enough memory for step 7, even .* positions, its longest") as caught:
        toy.train(tmp_path / "run")
    assert caught.value.exit_code == 6
    assert "\n" not in str(caught.value)
    assert (tmp_path / "run" / "last").resolve().name == "step-00000005"
