"""Curves for TensorBoard, with the package faked where it is not installed."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from nmt_cli.errors import MachineError

WRITER = "torch.utils.tensorboard"


class SummaryWriter:
    """What is used of torch's writer, noting what it is told."""

    made: list[SummaryWriter]

    def __init__(self, log_dir: str, *, purge_step: int) -> None:
        """Note where curves go and which steps are to be forgotten."""
        self.log_dir, self.purge_step = log_dir, purge_step
        self.scalars: list[tuple[str, float, int]] = []
        self.n_flushed = 0
        self.is_closed = False
        self.made.append(self)

    def add_scalar(self, tag: str, value: float, step: int) -> None:
        self.scalars.append((tag, value, step))

    def flush(self) -> None:
        self.n_flushed = len(self.scalars)

    def close(self) -> None:
        self.is_closed = True


@pytest.fixture
def writers(monkeypatch: pytest.MonkeyPatch) -> list[SummaryWriter]:
    """Put the fake in the place of torch's module; return the writers made."""
    module = ModuleType(WRITER)
    SummaryWriter.made = []
    monkeypatch.setattr(module, "SummaryWriter", SummaryWriter, raising=False)
    monkeypatch.setitem(sys.modules, WRITER, module)
    return SummaryWriter.made


def test_curves_are_the_numbers_of_the_metrics_and_no_step_comes_twice(
    toy: Any,  # noqa: ANN401
    tmp_path: Path,
    writers: list[SummaryWriter],
) -> None:
    run = tmp_path / "run"
    toy.train(run, "machine.tensorboard=true", "training.max_steps=13", "training.save_every_steps=100")
    toy.train(run, "machine.tensorboard=true", "training.max_steps=24")
    first, second = writers
    assert first.log_dir == second.log_dir == str(run / "tensorboard")
    assert (first.purge_step, second.purge_step) == (1, 14)
    assert all(writer.is_closed and writer.n_flushed == len(writer.scalars) for writer in writers)
    found = {(tag, step): value for writer in writers for tag, value, step in writer.scalars}
    assert len(found) == len(first.scalars) + len(second.scalars)
    expected = {
        (f"{kind}/{name}", record["step"]): value
        for kind in ("training", "validation", "cost")
        for record in toy.metrics(run, kind)
        for name, value in record.items()
        if isinstance(value, int | float) and name != "step"
    }
    assert found == expected
    assert {step for tag, step in found if tag == "training/loss_nats"} == set(range(1, 25))
    assert {step for tag, step in found if tag == "validation/validation_chrf"} == {12, 13, 24}


def test_curves_are_closed_when_training_ends_badly(
    toy: Any,  # noqa: ANN401
    tmp_path: Path,
    writers: list[SummaryWriter],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise MachineError("made up")

    monkeypatch.setattr("nmt_cli.training.start.train", fail)
    with pytest.raises(MachineError, match="made up"):
        toy.train(tmp_path / "run", "machine.tensorboard=true")
    assert [writer.is_closed for writer in writers] == [True]


def test_without_the_package_a_run_is_refused_before_it_begins(
    toy: Any,  # noqa: ANN401
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, WRITER, None)
    with pytest.raises(MachineError, match=r"pip install nmt-cli\[tensorboard\]") as caught:
        toy.train(tmp_path / "run", "machine.tensorboard=true")
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []
    toy.train(tmp_path / "run", "training.max_steps=1")
    assert not (tmp_path / "run" / "tensorboard").exists()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_tensorboard_itself_shows_every_step_once_after_a_run_that_went_back(toy: Any, tmp_path: Path) -> None:  # noqa: ANN401
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    run = tmp_path / "run"
    toy.train(run, "machine.tensorboard=true", "training.max_steps=8")
    (run / "checkpoints" / "step-00000008").rename(tmp_path / "lost")
    toy.train(run, "machine.tensorboard=true", "training.max_steps=12")  # from step 5 on
    events = EventAccumulator(str(run / "tensorboard"))
    events.Reload()
    losses = events.Scalars("training/loss_nats")
    assert [event.step for event in losses] == list(range(1, 13))
    logged = [record["loss_nats"] for record in toy.metrics(run, "training")]
    assert [event.value for event in losses] == pytest.approx(logged, rel=1e-6)
