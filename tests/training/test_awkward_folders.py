"""A run folder in which somebody put other things where the program's belong."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from nmt_cli.errors import UsageError
from nmt_cli.training.run_folder import RunFolder

MORE = ("training.max_steps=25", "training.validate_every_steps=1000")


@pytest.fixture
def run(whole_run: Path, tmp_path: Path) -> RunFolder:
    """A copy of the whole run, to be harmed."""
    shutil.copytree(whole_run, tmp_path / "run", symlinks=True)
    return RunFolder(tmp_path / "run")


@pytest.mark.parametrize("name", ["metrics.jsonl", "log.txt", "config.toml", ".lock", "last", "best"])
def test_a_folder_in_the_place_of_a_file_is_one_line_and_stays(toy: Any, run: RunFolder, name: str) -> None:  # noqa: ANN401
    place = run.path / name
    place.unlink(missing_ok=True)
    place.mkdir()
    (place / "mine").touch()
    with pytest.raises(UsageError) as caught:
        toy.train(run.path, *MORE)
    assert str(caught.value).startswith(str(run.path))
    assert "\n" not in str(caught.value)
    assert (place / "mine").exists()
    assert run.steps()[-1] == 24


def test_a_pipe_in_the_place_of_the_metrics_is_not_waited_for(toy: Any, run: RunFolder) -> None:  # noqa: ANN401
    run.metrics.unlink()
    os.mkfifo(run.metrics)
    with pytest.raises(UsageError, match=r"metrics\.jsonl: is no file"):
        toy.train(run.path, *MORE)


def test_a_file_in_the_place_of_the_checkpoints_is_named(toy: Any, run: RunFolder) -> None:  # noqa: ANN401
    shutil.rmtree(run.checkpoints)
    run.checkpoints.touch()
    with pytest.raises(UsageError, match=r"run/checkpoints: cannot be written \(File exists\)"):
        toy.train(run.path, *MORE)


def test_metrics_and_checkpoints_that_are_links_stay_links(toy: Any, run: RunFolder, tmp_path: Path) -> None:  # noqa: ANN401
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for place in (run.metrics, run.checkpoints):
        shutil.move(place, elsewhere / place.name)
        place.symlink_to(elsewhere / place.name)
    assert toy.train(run.path, *MORE).step == 25
    assert run.metrics.is_symlink()
    assert run.checkpoints.is_symlink()
    assert '"step": 25,' in (elsewhere / "metrics.jsonl").read_text(encoding="utf-8")
    assert (elsewhere / "checkpoints" / "step-00000025").is_dir()


def test_lines_of_the_metrics_that_are_no_records_go_and_the_records_stay(toy: Any, run: RunFolder) -> None:  # noqa: ANN401
    records = run.metrics.read_bytes()
    junk = [b"[]", b"3", b"null", b'{"a": 1}', b'{"step": "x"}', b'{"step": null}', b"\xff", b"[" * 100_000, b'{"st']
    run.metrics.write_bytes(records + b"\n".join(junk))
    toy.train(run.path, *MORE)
    assert run.metrics.read_bytes().startswith(records)
    assert [record["step"] for record in toy.metrics(run.path, "training")] == list(range(1, 26))


def test_a_checkpoint_under_another_name_is_not_gone_on_from(toy: Any, run: RunFolder) -> None:  # noqa: ANN401
    run.checkpoint(24).rename(run.checkpoint(60))
    assert toy.train(run.path, *MORE).step == 25
    assert any("step-00000060: is of step 24" in line for line in toy.log(run.path))
    assert "goes on after step 20, epoch 2" in toy.log(run.path)[-20:]
    assert run.steps()[-1] == 25
    assert (run.path / "last").resolve() == run.checkpoint(25)


@pytest.mark.parametrize("kind", ["file", "broken link"])
def test_a_file_where_a_checkpoint_goes_is_told_before_anything_is_trained(
    toy: Any,  # noqa: ANN401
    tmp_path: Path,
    kind: str,
) -> None:
    run = RunFolder(tmp_path / "run")
    run.checkpoints.mkdir(parents=True)
    place = run.checkpoint(100)
    if kind == "file":
        place.touch()
    else:
        place.symlink_to("nowhere")
    with pytest.raises(UsageError, match=r"step-00000100: is no folder, where a checkpoint of step 100 goes; move"):
        toy.train(run.path)
    assert list(run.path.iterdir()) == [run.checkpoints]
    place.unlink()
    assert toy.train(run.path, "training.max_steps=1").step == 1
