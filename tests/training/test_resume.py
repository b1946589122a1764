"""Interrupted and continued is never interrupted (reports 8 and 9); what may not go on is refused."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from nmt_cli.batches.plan import Cursor
from nmt_cli.errors import ModelError, StoppedError, UsageError
from nmt_cli.training import loop, update
from nmt_cli.training.run_folder import RunFolder
from nmt_cli.training.start import run_training

WEIGHTS = "weights.safetensors"


class PowerCutError(Exception):
    """Stands for whatever ends a process."""


@pytest.fixture
def power_cut(monkeypatch: pytest.MonkeyPatch) -> Callable[[int | None], list[tuple[int, list[int]]]]:
    """Return a function that has training end when it comes to a step, and that gives the pairs it used so far."""
    planned = loop.planned_updates
    used: list[tuple[int, list[int]]] = []
    at: list[int | None] = [None]

    def watched(*arguments: Any) -> Iterator[tuple[Any, Cursor]]:  # noqa: ANN401
        for pairs, cursor in planned(*arguments):
            if cursor.step == at[0]:
                raise PowerCutError
            used.append((cursor.step, pairs.tolist()))
            yield pairs, cursor

    monkeypatch.setattr(loop, "planned_updates", watched)

    def before(step: int | None) -> list[tuple[int, list[int]]]:
        at[0] = step
        used.clear()
        return used

    return before


def assert_same_end(toy: Any, run: Path, whole_run: Path) -> None:  # noqa: ANN401
    last = run / "checkpoints" / "step-00000024"
    assert (last / WEIGHTS).read_bytes() == (whole_run / "last" / WEIGHTS).read_bytes()
    optimizer = Path("training", "optimizer.safetensors")
    assert (last / optimizer).read_bytes() == (whole_run / "last" / optimizer).read_bytes()
    for kind in ("training", "validation"):
        found, expected = (toy.metrics(path, kind) for path in (run, whole_run))
        for name in ("step", "epoch", "learning_rate", "loss_nats", "validation_bleu", "validation_loss_nats"):
            assert [repr(record.get(name)) for record in found] == [repr(record.get(name)) for record in expected]
    assert [(run / name).resolve().name for name in ("last", "best")] == [
        (whole_run / name).resolve().name for name in ("last", "best")
    ]


def test_the_toy_is_what_the_report_asks_for(toy: Any, whole_run: Path) -> None:  # noqa: ANN401
    assert [record["step"] for record in toy.metrics(whole_run, "training")] == list(range(1, 25))
    assert [record["epoch"] for record in toy.metrics(whole_run, "training")] == [0] * 7 + [1] * 8 + [2] * 8 + [3]


@pytest.mark.parametrize("stops", [[14], [6, 6, 14, 16, 22], [1, 2, 24]])
def test_a_run_cut_off_and_continued_ends_with_the_same_bits(
    toy: Any,  # noqa: ANN401
    tmp_path: Path,
    whole_run: Path,
    power_cut: Callable[[int | None], list[tuple[int, list[int]]]],
    stops: list[int],
) -> None:
    used = power_cut(None)
    toy.train(tmp_path / "other")
    expected = dict(used)
    pairs_used: dict[int, list[int]] = {}
    for stop in [*stops, None]:
        used = power_cut(stop)
        try:
            toy.train(tmp_path / "run")
        except PowerCutError:
            assert stop is not None
        pairs_used |= dict(used)
    assert pairs_used == expected
    assert_same_end(toy, tmp_path / "run", whole_run)


@pytest.mark.parametrize("stop", [13, 20])
def test_a_run_that_ended_and_gets_more_steps_ends_with_the_same_bits(
    toy: Any,  # noqa: ANN401
    tmp_path: Path,
    whole_run: Path,
    stop: int,
) -> None:
    assert toy.train(tmp_path / "run", f"training.max_steps={stop}", "training.validate_every_steps=100").step == stop
    toy.train(tmp_path / "run")
    last = tmp_path / "run" / "last" / WEIGHTS
    assert last.read_bytes() == (whole_run / "last" / WEIGHTS).read_bytes()
    rates = [[repr(r["learning_rate"]) for r in toy.metrics(run, "training")] for run in (tmp_path / "run", whole_run)]
    assert rates[0] == rates[1]


def test_a_complete_run_does_nothing_and_says_how_to_go_on(toy: Any, tmp_path: Path, whole_run: Path) -> None:  # noqa: ANN401
    shutil.copytree(whole_run, tmp_path / "run", symlinks=True)
    before = (tmp_path / "run" / "last" / WEIGHTS).read_bytes()
    assert toy.train(tmp_path / "run").step == 24
    assert (tmp_path / "run" / "last" / WEIGHTS).read_bytes() == before
    assert "complete at step 24; give a larger --max-steps to go on" in toy.log(tmp_path / "run")[-1]


@pytest.mark.parametrize(
    "name", [WEIGHTS, "model.json", "subwords.model", "training/optimizer.safetensors", "training/state.json"]
)
@pytest.mark.parametrize("damage", ["flip", "cut", "remove"])
def test_a_damaged_newest_checkpoint_is_named_and_the_one_before_is_used(
    toy: Any,  # noqa: ANN401
    tmp_path: Path,
    whole_run: Path,
    name: str,
    damage: str,
) -> None:
    run = tmp_path / "run"
    shutil.copytree(whole_run, run, symlinks=True)
    path = run / "checkpoints" / "step-00000024" / name
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    match damage:
        case "flip":
            path.write_bytes(content)
        case "cut":
            path.write_bytes(content[: len(content) // 2])
        case "remove":
            path.unlink()
    toy.train(run)
    log = "\n".join(toy.log(run))
    assert "goes on after step 20, epoch 2" in log
    if (name, damage) != ("model.json", "remove"):  # a folder without it was never complete
        assert "cannot continue from step 24: " in log
        assert str(path) in log or str(path.parent) in log
    assert_same_end(toy, run, whole_run)


def test_a_run_without_any_good_checkpoint_is_refused(toy: Any, tmp_path: Path, whole_run: Path) -> None:  # noqa: ANN401
    run = tmp_path / "run"
    shutil.copytree(whole_run, run, symlinks=True)
    for step in (20, 24):
        (run / "checkpoints" / f"step-000000{step}" / "training" / "state.json").write_text("{}")
    with pytest.raises(ModelError, match="no checkpoint can be continued") as caught:
        toy.train(run)
    assert "\n" not in str(caught.value)
    assert (run / "last" / WEIGHTS).is_file()


def test_a_second_run_in_the_same_folder_is_refused(toy: Any, tmp_path: Path, whole_run: Path) -> None:  # noqa: ANN401
    run = tmp_path / "run"
    shutil.copytree(whole_run, run, symlinks=True)
    log = toy.log(run)
    with RunFolder(run).locked(), pytest.raises(UsageError, match="another process trains in this run"):
        toy.train(run, "training.max_steps=30")
    assert toy.log(run) == log
    assert toy.train(run, "training.max_steps=25").step == 25


def test_other_settings_are_refused_with_both_values(toy: Any, tmp_path: Path, whole_run: Path) -> None:  # noqa: ANN401
    run = tmp_path / "run"
    shutil.copytree(whole_run, run, symlinks=True)
    config = (run / "config.toml").read_bytes()
    with pytest.raises(UsageError) as caught:
        toy.train(run, "training.seed=2", "model.d_ff=64", "training.max_steps=30", "model.dropout=0.1")
    for difference in ("model.d_ff was 32, now 64", "model.dropout was 0.2, now 0.1", "training.seed was 1, now 2"):
        assert difference in str(caught.value)
    assert "max_steps" not in str(caught.value)
    assert (run / "config.toml").read_bytes() == config


def test_other_data_is_refused_with_both_digests(
    toy: Any,  # noqa: ANN401
    tmp_path: Path,
    whole_run: Path,
    make_corpus: Callable[..., Path],
) -> None:
    run = tmp_path / "run"
    shutil.copytree(whole_run, run, symlinks=True)
    other = make_corpus("other", train=toy.sentences(300, seed=5), valid=toy.sentences(13, seed=2))
    with pytest.raises(ModelError, match=r"trained on data [0-9a-f]{12}…, but .* is [0-9a-f]{12}…") as caught:
        run_training(other, run, toy.settings("training.max_steps=30"), quiet=True)
    assert "give the same data or another --run" in str(caught.value)


@pytest.mark.parametrize("content", ["a file", "a folder with something else"])
def test_a_place_that_is_no_run_is_left_alone(toy: Any, tmp_path: Path, content: str) -> None:  # noqa: ANN401
    place = tmp_path / "run"
    if content == "a file":
        place.write_text("mine")
    else:
        place.mkdir()
        (place / "thesis.tex").write_text("mine")
    with pytest.raises(UsageError, match="run: "):
        toy.train(place)
    assert [path.read_text() for path in tmp_path.rglob("*") if path.is_file()] == ["mine"]


def test_a_run_that_was_killed_before_its_first_step_begins_anew(toy: Any, tmp_path: Path, whole_run: Path) -> None:  # noqa: ANN401
    run = RunFolder(tmp_path / "run")
    run.create()  # all that there is when a process is killed before the settings are written
    (run.path / ".lock").touch()
    run.log.touch()
    toy.train(run.path)
    assert_same_end(toy, run.path, whole_run)


def test_the_newest_two_checkpoints_can_be_continued_and_only_good_ones_are_kept(
    toy: Any,  # noqa: ANN401
    tmp_path: Path,
    whole_run: Path,
) -> None:
    run = tmp_path / "run"
    toy.train(run, "training.keep_checkpoints=2")
    names = {path.name for path in (run / "checkpoints").iterdir()}
    best = toy.metrics(run, "validation")
    best_step = max(best, key=lambda record: (record["validation_bleu"], -record["step"]))["step"]
    assert names == {f"step-{step:08}" for step in {20, 24, best_step}}
    assert (run / "best").resolve().name == f"step-{best_step:08}"
    assert (run / "last").resolve().name == "step-00000024"
    with_state = {path.parent.name for path in whole_run.glob("checkpoints/*/training")}
    assert with_state == {"step-00000020", "step-00000024"}


def test_what_a_kill_left_half_written_is_swept_away(toy: Any, tmp_path: Path, whole_run: Path) -> None:  # noqa: ANN401
    run = tmp_path / "run"
    toy.train(run, "training.max_steps=6")
    (run / "checkpoints" / ".step-00000010.x8f" / "training").mkdir(parents=True)
    with (run / "metrics.jsonl").open("a") as stream:
        stream.write('{"kind": "training", "step": 7, "learning_rate": 1.0}\n{"kind": "train')
    toy.train(run)
    assert not list((run / "checkpoints").glob(".*"))
    assert [record["step"] for record in toy.metrics(run, "training")] == list(range(1, 25))
    assert (run / "last" / WEIGHTS).read_bytes() == (whole_run / "last" / WEIGHTS).read_bytes()


def test_a_stop_asked_for_at_any_moment_of_a_step_saves_that_step(
    toy: Any,  # noqa: ANN401
    tmp_path: Path,
    whole_run: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    moments = {
        "learning_rate": update,
        "accumulate_gradient": update,
        "take_update": loop,
        "advanced": loop,
        "reason_to_save": loop,
        "out_of_patience": loop,
    }
    run = tmp_path / "run"
    for step, (moment, module) in enumerate(moments.items(), start=1):
        real = getattr(module, moment)

        def signalled(*arguments: Any, real: Any = real, **others: Any) -> Any:  # noqa: ANN401
            result = real(*arguments, **others)
            os.kill(os.getpid(), signal.SIGTERM)
            monkeypatch.undo()
            return result

        monkeypatch.setattr(module, moment, signalled)
        with pytest.raises(StoppedError, match=f"stopped at step {step - (moment == 'out_of_patience')}") as caught:
            toy.train(run)
        assert caught.value.exit_code == 143
    toy.train(run)
    assert (run / "last" / WEIGHTS).read_bytes() == (whole_run / "last" / WEIGHTS).read_bytes()
