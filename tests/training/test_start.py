"""What is checked and settled before the first step."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from nmt_cli.errors import DataError, MachineError, ModelError, NmtError, UsageError
from nmt_cli.settings_files import resolve
from nmt_cli.training import start
from nmt_cli.training.capacity import Capacity
from nmt_cli.training.progress import RunLog
from nmt_cli.training.run_folder import RunFolder
from nmt_cli.training.start import run_training, settings_of_run
from nmt_cli.training.trained import Trained


class PowerCutError(Exception):
    """Stands for whatever ends a process."""


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
            return settings_of_run(run, settings, log, capacity=Capacity(5, None, 1)).machine.ranks

    return settle


def test_a_run_keeps_its_ranks_and_says_when_they_change(
    toy: Any,  # noqa: ANN401
    tmp_path: Path,
    settled: Callable[..., int | None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
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
    assert settled() == 5


def test_a_gpu_each_for_as_many_ranks_as_asked_for_and_one_also_when_the_run_began_on_a_cpu(
    settled: Callable[..., int | None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert settled("machine.ranks=3") == 3
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "set_device", lambda _: None)
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda **_: True)
    with pytest.raises(UsageError, match=r"machine.ranks is 3, a GPU each, but this machine has 2; .*--device cpu"):
        settled("machine.ranks=3")
    assert settled() == 1
    assert settled("machine.device=cuda", "machine.ranks=2") == 2
    assert settled() == 2
    assert settled("machine.device=cpu", "machine.ranks=4") == 4


def test_a_run_that_goes_on_says_when_layers_are_compiled_or_no_longer(
    toy: Any,  # noqa: ANN401
    whole_run: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = shutil.copytree(whole_run, tmp_path / "run", symlinks=True)
    monkeypatch.setattr(start, "compile_layers", lambda _model, _warn: None)
    for value in ("true", "true", "false"):
        toy.train(run, f"machine.compile={value}")
    assert [line for line in toy.log(run) if "machine.compile" in line] == [
        "machine.compile is True, False before: equal to the last bit only up to here",
        "machine.compile is False, True before: equal to the last bit only up to here",
    ]


def test_the_precision_of_a_device_on_which_nothing_was_trained_yet_is_not_kept(
    toy: Any,  # noqa: ANN401
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def power_cut(*_: object, **__: object) -> None:
        raise PowerCutError

    run = tmp_path / "run"
    monkeypatch.setattr(start, "default_precision", lambda _device: "bfloat16")  # as on a GPU
    monkeypatch.setattr(Trained, "new", power_cut)
    with pytest.raises(PowerCutError):
        toy.train(run)
    assert resolve(preset=None, config=run / "config.toml").training.precision == "bfloat16"
    monkeypatch.undo()
    toy.train(run, "training.max_steps=1")
    assert resolve(preset=None, config=run / "config.toml").training.precision == "float32"


@pytest.mark.parametrize(
    ("assignment", "error"),
    [
        ("training.max_length=1", DataError),
        pytest.param(
            "machine.device=cuda",
            MachineError,
            marks=pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU"),
        ),
    ],
)
def test_what_cannot_begin_leaves_no_run_that_bars_the_way(
    toy: Any,  # noqa: ANN401
    tmp_path: Path,
    assignment: str,
    error: type[NmtError],
) -> None:
    with pytest.raises(error):
        toy.train(tmp_path / "runs" / "r", assignment)
    assert list(tmp_path.iterdir()) == []


def test_a_run_on_data_of_another_vocabulary_is_refused_as_that(
    toy: Any,  # noqa: ANN401
    whole_run: Path,
    tmp_path: Path,
    make_corpus: Callable[..., Path],
) -> None:
    other = make_corpus("other", train=(["one", "two"], ["eins", "zwei"]))
    with pytest.raises(ModelError, match=r"trained on data [0-9a-f]{12}…, but .* is [0-9a-f]{12}…"):
        run_training(other, shutil.copytree(whole_run, tmp_path / "run", symlinks=True), toy.settings(), quiet=True)
