"""A gradient that is not finite never enters the weights (report 11)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from nmt_cli.errors import DivergedError, MachineError
from nmt_cli.model_folder import open_model_folder, read_tensors
from nmt_cli.training import loop


@pytest.fixture
def overflow(monkeypatch: pytest.MonkeyPatch) -> Callable[[range], None]:
    """Return a function that sets one weight to 1e38 while the gradients of some steps are worked out."""
    accumulate = loop.accumulate_gradient

    def set_steps(steps: range) -> None:
        def poisoned(model: Any, *arguments: Any, step: int, **others: Any) -> Any:  # noqa: ANN401
            if step not in steps:
                return accumulate(model, *arguments, step=step, **others)
            weight = model.encoder_layers[0].feed_forward.outer.weight.data
            before = weight.clone()
            weight[0, :] = 1e38
            result = accumulate(model, *arguments, step=step, **others)
            weight.copy_(before)
            return result

        monkeypatch.setattr(loop, "accumulate_gradient", poisoned)

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


def test_a_lack_of_memory_is_one_line_and_no_update(
    toy: Any,  # noqa: ANN401
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    accumulate = loop.accumulate_gradient

    def greedy(*arguments: Any, step: int, **others: Any) -> Any:  # noqa: ANN401
        if step == 7:
            torch.empty(1 << 58, dtype=torch.uint8)
        return accumulate(*arguments, step=step, **others)

    monkeypatch.setattr(loop, "accumulate_gradient", greedy)
    with pytest.raises(MachineError, match=r"^not enough memory for step 7; give fewer --ranks, or .* --run") as caught:
        toy.train(tmp_path / "run")
    assert caught.value.exit_code == 6
    assert "\n" not in str(caught.value)
    assert (tmp_path / "run" / "last").resolve().name == "step-00000005"
