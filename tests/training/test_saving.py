"""Checkpoints that another thread writes are those of the moment when they were asked for."""

from __future__ import annotations

import contextlib
import functools
import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from nmt_cli.batches.training_data import open_training_data
from nmt_cli.errors import MachineError
from nmt_cli.model_folder import open_model_folder
from nmt_cli.training import loop, saving, start
from nmt_cli.training.checkpoint import Snapshot
from nmt_cli.training.run_folder import RunFolder
from nmt_cli.training.saving import Saver
from nmt_cli.training.state import Progress
from nmt_cli.training.stopping import StopRequest
from nmt_cli.training.trained import Trained


@pytest.fixture
def trained(toy: Any) -> Trained:  # noqa: ANN401
    return Trained.new(open_training_data(toy.corpus), toy.settings(), device=torch.device("cpu"))


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    folder = RunFolder(tmp_path / "run")
    folder.create()
    return folder


def test_it_is_written_while_training_goes_on(
    trained: Trained, run: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on, real = threading.Event(), saving.write_snapshot

    def slow(*arguments: Any) -> None:  # noqa: ANN401
        assert go_on.wait(30)
        real(*arguments)

    monkeypatch.setattr(saving, "write_snapshot", slow)
    weight = trained.model.source_embedding.weight
    before = weight.detach().clone()
    with Saver(run, trained, in_background=True) as saver:
        saver.save(Progress(step=1), reason="turn")
        assert run.steps() == []
        weight.data.add_(1.0)
        go_on.set()
        saver.save(Progress(step=2), reason="turn")
        assert 1 in run.steps()
    assert run.steps() == [1, 2]
    found = [open_model_folder(run.checkpoint(step)).weights()["source_embedding.weight"] for step in (1, 2)]
    assert np.array_equal(found[0], before.numpy())
    assert np.array_equal(found[1], before.numpy() + np.float32(1.0))


@pytest.mark.parametrize("then", ["save", "end"])
def test_what_could_not_be_written_is_an_error_of_the_run(
    trained: Trained, run: RunFolder, monkeypatch: pytest.MonkeyPatch, then: str
) -> None:
    def full_disk(*_arguments: Any) -> None:  # noqa: ANN401
        raise MachineError("no space left")

    monkeypatch.setattr(saving, "write_snapshot", full_disk)
    with pytest.raises(MachineError, match="no space left"), Saver(run, trained, in_background=True) as saver:  # noqa: PT012
        saver.save(Progress(step=1), reason="turn")
        if then == "save":
            saver.save(Progress(step=2), reason="turn")


def test_a_stop_whose_checkpoint_could_not_be_written_is_that_error_and_no_stop(
    toy: Any,  # noqa: ANN401
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    request, advanced, write = StopRequest(), loop.advanced, saving.write_snapshot

    def asked_to_stop(progress: Progress, *arguments: Any, **others: Any) -> Progress:  # noqa: ANN401
        progress = advanced(progress, *arguments, **others)
        request.exit_code = 143 if progress.step == 7 else None
        return progress

    def full_disk(run: RunFolder, trained: Trained, snapshot: Snapshot) -> None:
        if snapshot.progress.step == 7:
            raise MachineError("no space left")
        write(run, trained, snapshot)

    monkeypatch.setattr(start, "listening_for_stop", lambda: contextlib.nullcontext(request))
    monkeypatch.setattr(loop, "advanced", asked_to_stop)
    monkeypatch.setattr(saving, "write_snapshot", full_disk)
    monkeypatch.setattr(loop, "Saver", functools.partial(Saver, in_background=True))
    with pytest.raises(MachineError, match="no space left"):
        toy.train(tmp_path / "run")
    assert (tmp_path / "run" / "last").resolve().name == "step-00000005"
    assert not any("saved (stop)" in line for line in toy.log(tmp_path / "run"))


def test_a_disk_that_is_full_at_a_save_leaves_the_checkpoint_before_and_a_run_that_goes_on_to_the_same_bits(
    toy: Any,  # noqa: ANN401
    whole_run: Path,
    tmp_path: Path,
) -> None:
    run = tmp_path / "run"
    toy.train(run, "training.max_steps=6")
    most = (run / "last" / "training" / "optimizer.safetensors").stat().st_size // 2
    program = (
        f"import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, ({most}, {most}));"
        "from nmt_cli.cli.main import main; main()"
    )
    arguments = ["train", toy.corpus, "--config", toy.config, "--run", run]
    done = subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == MachineError.exit_code
    [line] = [line for line in done.stderr.splitlines() if line.startswith("nmt: ")]
    checkpoints = re.escape(str(run / "checkpoints"))
    said = rf"{checkpoints}/step-00000010: cannot be written \(.*[Ff]ile too large.*\); the last good checkpoint is "
    said += rf"{checkpoints}/step-00000006; make room, and the same command goes on"
    assert re.fullmatch(f"nmt: {said}", line), line
    assert "Traceback" not in done.stderr
    assert sorted(path.name for path in (run / "checkpoints").iterdir()) == ["step-00000005", "step-00000006"]
    assert open_model_folder(run / "last").description.step == 6
    toy.train(run)
    weights = Path("last", "weights.safetensors")
    assert (run / weights).read_bytes() == (whole_run / weights).read_bytes()
