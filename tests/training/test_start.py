"""What is checked and settled before the first step."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from nmt_cli.errors import UsageError
from nmt_cli.training import start
from nmt_cli.training.progress import RunLog
from nmt_cli.training.run_folder import RunFolder
from nmt_cli.training.start import run_training, settings_of_run

LEARNED = ["model.positions=learned", "training.max_steps=1", "training.max_length=20"]


def test_a_validation_pair_past_the_learned_positions_is_refused_before_training(
    toy: Any,  # noqa: ANN401
    tmp_path: Path,
    make_corpus: Callable[..., Path],
) -> None:
    long = " ".join(["ba"] * 30)
    corpus = make_corpus("long", train=toy.sentences(60, seed=1), valid=([long], ["ba"]))
    with pytest.raises(UsageError, match=r"validation split is \d+, but model.max_positions is 20; learned"):
        run_training(corpus, tmp_path / "run", toy.settings(*LEARNED, "model.max_positions=20"), quiet=True)
    assert not (tmp_path / "run").exists()
    run_training(corpus, tmp_path / "run", toy.settings(*LEARNED, "model.max_positions=100"), quiet=True)


@pytest.fixture
def settled(toy: Any, tmp_path: Path) -> Callable[..., int | None]:  # noqa: ANN401
    """Return what settles the number of ranks of one run, time after time."""
    run = RunFolder(tmp_path / "run")
    run.create()

    def settle(*assignments: str) -> int | None:
        settings = toy.settings("machine.device=auto", *assignments)
        if not any(name.startswith("machine.ranks") for name in assignments):
            machine = settings.machine.model_copy(update={"ranks": None})
            settings = settings.model_copy(update={"machine": machine})
        with RunLog(run.log, quiet=True) as log:
            return settings_of_run(run, settings, log).machine.ranks

    return settle


def test_a_run_keeps_its_ranks_and_says_when_they_change(
    toy: Any,  # noqa: ANN401
    tmp_path: Path,
    settled: Callable[..., int | None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(start, "cores_to_use", lambda: 5)
    assert settled("machine.ranks=3") == 3
    assert settled() == 3
    assert toy.log(tmp_path / "run") == []
    assert settled("machine.ranks=2") == 2
    assert settled() == 2
    assert toy.log(tmp_path / "run") == [
        "2 processes share each update, 3 before: equal to the last bit only up to here"
    ]


def test_a_new_run_takes_one_rank_a_core(settled: Callable[..., int | None], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(start, "cores_to_use", lambda: 5)
    assert settled() == 5


def test_a_gpu_has_one_rank_also_when_the_run_began_on_a_cpu(
    settled: Callable[..., int | None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert settled("machine.ranks=3") == 3
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    with pytest.raises(UsageError, match=r"machine.ranks is 3, but a GPU has one process; .*--device cpu"):
        settled("machine.ranks=3")
    assert settled() == 1
    assert settled("machine.device=cpu", "machine.ranks=4") == 4
