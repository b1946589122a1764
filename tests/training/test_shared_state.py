"""What ranks begin with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from nmt_cli.batches.training_data import open_training_data
from nmt_cli.training import loop as module_of_loop
from nmt_cli.training import trained as module_of_trained
from nmt_cli.training.ranks import Ranks
from nmt_cli.training.state import Progress
from nmt_cli.training.trained import Trained, share_state


@pytest.mark.parametrize(
    ("given", "stored", "limit"),
    [
        (None, None, 2_560),
        (None, 37, 37),  # memory ran out before
        (None, 131_072, 2_560),  # the run comes from a GPU
        (150, None, 150),
        (150, 37, 37),
        (9_000, None, 9_000),
    ],
)
def test_on_a_cpu_micro_batches_are_as_large_as_set_or_of_2560_positions_or_as_memory_allowed(
    toy: Any,  # noqa: ANN401
    given: int | None,
    stored: int | None,
    limit: int,
) -> None:
    settings = toy.settings()
    training = settings.training.model_copy(update={"micro_batch_tokens": given})
    settings = settings.model_copy(update={"training": training})
    trained = Trained.new(open_training_data(toy.corpus), settings, device=torch.device("cpu"))
    progress, found = share_state(trained, Progress(step=3, micro_batch_tokens=stored), Ranks())
    assert (progress.step, found.tokens) == (3, limit)


@pytest.mark.parametrize(
    ("given", "before", "now", "limit"),
    [
        (None, "cpu", "cuda", 77_056),
        (None, "cuda", "cuda", 4_096),
        (None, "cuda", "cpu", 2_560),
        (None, "cpu", "cpu", 4_096),  # begun when that was the limit: equal to the last bit it stays
        (None, None, "cuda", 4_096),  # a checkpoint that does not say
        (150, "cpu", "cuda", 150),
        (150, "cuda", "cpu", 150),
    ],
)
def test_a_limit_found_on_another_kind_of_device_is_found_anew(
    toy: Any,  # noqa: ANN401
    monkeypatch: pytest.MonkeyPatch,
    given: int | None,
    before: str | None,
    now: str,
    limit: int,
) -> None:
    monkeypatch.setattr(module_of_trained, "measured_limit", lambda *_, **__: 77_056)
    settings = toy.settings()
    training = settings.training.model_copy(update={"micro_batch_tokens": given})
    settings = settings.model_copy(update={"training": training})
    trained = Trained.new(open_training_data(toy.corpus), settings, device=torch.device("cpu"))
    progress = Progress(step=3, micro_batch_tokens=4_096 if given is None else 37, device=before)
    _, found = share_state(trained, progress, Ranks(device=torch.device(now)))
    assert found.tokens == limit


def test_a_run_that_comes_from_another_kind_of_device_says_so_once_and_stores_its_new_limit(
    toy: Any,  # noqa: ANN401
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = tmp_path / "run"
    real = module_of_loop.read_updates

    def on_a_gpu(*arguments: Any, **named: Any) -> Progress:  # noqa: ANN401
        return real(*arguments, **named).model_copy(update={"micro_batch_tokens": 37, "device": "cuda"})

    with monkeypatch.context() as patch:
        patch.setattr(module_of_loop, "read_updates", on_a_gpu)
        toy.train(run, "training.max_steps=2")
    last = toy.train(run, "training.max_steps=4")
    assert (last.micro_batch_tokens, last.device) == (150, "cpu")
    toy.train(run, "training.max_steps=5")
    said = "on cpu, cuda before: at most 150 positions a side at a time from here on"
    assert [line.partition(";")[0] for line in toy.log(run)].count(said) == 1
