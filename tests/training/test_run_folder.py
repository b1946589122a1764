"""What a run keeps, whatever a kill, a person or damage left in it."""

from __future__ import annotations

import errno
import fcntl
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from nmt_cli.errors import DataError, MachineError, ModelError
from nmt_cli.model_folder import open_model_folder
from nmt_cli.training import loop, saving
from nmt_cli.training.averaging import choose_checkpoints
from nmt_cli.training.progress import RunLog
from nmt_cli.training.run_folder import RunFolder
from nmt_cli.training.start import run_training

NOTHING_MORE = "training.validate_every_steps=100"


@pytest.fixture
def run(whole_run: Path, tmp_path: Path) -> RunFolder:
    """A copy of the whole run, to be harmed."""
    shutil.copytree(whole_run, tmp_path / "run", symlinks=True)
    return RunFolder(tmp_path / "run")


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"kind": "model"}', b"\xff"])
def test_an_old_damaged_checkpoint_does_not_end_a_run_and_is_not_averaged(
    toy: Any,  # noqa: ANN401
    run: RunFolder,
    damage: bytes,
) -> None:
    (run.checkpoint(10) / "model.json").write_bytes(damage)
    assert toy.train(run.path, "training.max_steps=26", NOTHING_MORE).step == 26
    assert 26 in run.steps()
    if damage != b'{"kind": "model"}':  # which names no reason, so that it is none of those to average
        with pytest.raises(ModelError, match="step-00000010"):
            choose_checkpoints(run.path, last=2)


def test_a_damaged_checkpoint_goes_when_its_turn_comes(toy: Any, run: RunFolder) -> None:  # noqa: ANN401
    (run.checkpoint(10) / "model.json").write_bytes(b"")
    toy.train(run.path, "training.max_steps=25", "training.keep_checkpoints=2", NOTHING_MORE)
    assert not run.checkpoint(10).exists()


def test_folders_that_a_person_put_beside_the_checkpoints_are_left_alone(toy: Any, run: RunFolder) -> None:  # noqa: ANN401
    beside = [run.checkpoints / name for name in ("step-00000020.bak", "step-mine", "step-99", "step-00000099 copy")]
    for folder in beside:
        shutil.copytree(run.checkpoint(20), folder)
    toy.train(run.path, "training.max_steps=25", "training.keep_checkpoints=1", NOTHING_MORE)
    assert all(open_model_folder(folder).description.step == 20 for folder in beside)
    assert choose_checkpoints(run.path, last=1) == [run.checkpoint(25)]


def test_what_a_kill_left_of_a_removed_state_is_swept_away(
    toy: Any,  # noqa: ANN401
    run: RunFolder,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    remove = shutil.rmtree

    def killed(folder: Path, **_options: bool) -> None:
        if "training" in str(folder) and Path(folder).exists():
            raise PowerCutError
        remove(folder, **_options)

    monkeypatch.setattr(shutil, "rmtree", killed)
    with pytest.raises(PowerCutError):
        toy.train(run.path, "training.max_steps=25", NOTHING_MORE)
    monkeypatch.undo()
    assert list(run.path.rglob("optimizer.safetensors"))
    toy.train(run.path, "training.max_steps=26", NOTHING_MORE)
    with_state = sorted(path.parent.name for path in run.path.rglob("optimizer.safetensors"))
    assert with_state == ["training", "training"]
    assert not list(run.checkpoints.rglob(".*"))


def test_no_link_points_at_nothing_when_a_run_goes_on_from_an_older_checkpoint(
    toy: Any,  # noqa: ANN401
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    best_at: Callable[[int], None],
) -> None:
    best_at(24)
    run = RunFolder(tmp_path / "run")
    toy.train(run.path)
    assert (run.path / "best").resolve() == run.checkpoint(24)
    assert not run.checkpoint(12).exists()  # the best of those before
    (run.checkpoint(24) / "training" / "state.json").write_text("{}")
    links = {}

    def look(self: RunFolder, step: int) -> None:
        links["before removal"] = [(self.path / name).resolve().name for name in ("last", "best")]
        remove_after(self, step)

    remove_after = RunFolder.remove_after
    monkeypatch.setattr(RunFolder, "remove_after", look)
    monkeypatch.setattr(loop, "planned_updates", _power_cut)
    with pytest.raises(PowerCutError):
        toy.train(run.path)
    assert links["before removal"] == ["step-00000020", "best"]
    assert (run.path / "last").resolve() == run.checkpoint(20)
    assert not (run.path / "best").is_symlink()


class PowerCutError(Exception):
    """Stands for whatever ends a process."""


def _power_cut(*_arguments: object) -> Iterator[Any]:
    raise PowerCutError


def test_the_scores_of_the_last_validation_outlive_a_stop(toy: Any, tmp_path: Path) -> None:  # noqa: ANN401
    for steps in (13, 14):
        toy.train(
            tmp_path / "run", f"training.max_steps={steps}", "training.validate_every_steps=13", "training.seed=3"
        )
    toy.train(tmp_path / "run", "training.max_steps=16", "training.save_every_steps=1", NOTHING_MORE, "training.seed=3")
    [*_, last] = toy.metrics(tmp_path / "run", "validation")
    assert (last["step"], last["validation_loss_nats"] > 0) == (16, True)
    for step, validated_at in ((13, 13), (14, 14), (15, 14), (16, 16)):
        scores = open_model_folder(tmp_path / "run" / "checkpoints" / f"step-{step:08}").description.scores
        [record] = [r for r in toy.metrics(tmp_path / "run", "validation") if r["step"] == validated_at]
        assert scores == {name: value for name, value in record.items() if name in scores}
        assert len(scores) == 6


def test_a_disk_without_locks_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = RunFolder(tmp_path / "run")
    run.create()

    def refuse(*_arguments: object) -> None:
        raise OSError(errno.ENOSYS, "Function not implemented")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with pytest.raises(MachineError, match=r"run: cannot be locked \(Function not implemented\)"), run.locked():
        pass


def test_a_log_that_the_disk_refuses_is_one_line() -> None:
    with (
        pytest.raises(MachineError, match="/dev/full: cannot be written"),
        RunLog(Path("/dev/full"), quiet=True) as log,
    ):
        log.line("x")


@pytest.mark.parametrize("change", ["exchanged", "removed"])
def test_no_checkpoint_gets_other_subwords_than_it_was_trained_with(
    toy: Any,  # noqa: ANN401
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    change: str,
) -> None:
    corpus, run = tmp_path / "toy", RunFolder(tmp_path / "run")
    shutil.copytree(toy.corpus, corpus)
    subwords = corpus / "pieces" / "subwords.model"
    save = saving.write_snapshot

    def meanwhile(*arguments: Any, **others: Any) -> None:  # noqa: ANN401
        save(*arguments, **others)
        if change == "removed":
            subwords.unlink()
        else:
            subwords.write_bytes(subwords.read_bytes() + b"\n")

    monkeypatch.setattr(saving, "write_snapshot", meanwhile)
    with pytest.raises(DataError, match=r"subwords.model: exchanged or removed while a run trained on it"):
        run_training(corpus, run.path, toy.settings(), quiet=True)
    assert [path.name for path in run.checkpoints.iterdir()] == ["step-00000005"]
