"""Ranks on GPUs: what is on a GPU is summed there, what the lead says travels past it."""

from __future__ import annotations

import datetime as dt
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.distributed import FileStore

from nmt_cli.training.devices import own_gpu
from nmt_cli.training.ranks import Ranks, join, leave

PROGRAM = Path(sys.executable).parent / "nmt"
pytestmark = pytest.mark.gpu


def train(toy: Any, run: Path, *more: str) -> subprocess.CompletedProcess[str]:  # noqa: ANN401
    text = ["--config", toy.config, "--run", run, "--set", "machine.device=auto"]
    command = [PROGRAM, "train", toy.corpus, *text, *more]
    return subprocess.run(command, capture_output=True, text=True, check=False, encoding="utf-8")


def test_one_group_sums_on_the_gpu_and_on_the_cpu(tmp_path: Path) -> None:
    joined = Ranks(0, 1, device=own_gpu(0))
    join(FileStore(str(tmp_path / "store"), 1), joined, timeout=dt.timedelta(seconds=60))
    try:
        ranks = Ranks(0, 2, device=joined.device)  # so that it does ask the group, which has one member
        values = [torch.arange(3.0), torch.arange(3.0, device=joined.device)]
        for value in values:
            ranks.sum_(value)
            assert value.tolist() == [0.0, 1.0, 2.0]
        ranks.follow_lead_(values)
        assert ranks.lead_says(7) == 7
        assert ranks.any_of(True)  # noqa: FBT003 - its only argument
    finally:
        leave()


def test_more_gpus_than_there_are_is_refused_with_both_numbers(toy: Any, tmp_path: Path) -> None:  # noqa: ANN401
    there = torch.cuda.device_count()
    done = train(toy, tmp_path / "run", "--gpus", str(there + 1))
    assert done.returncode == 2
    assert f"machine.ranks is {there + 1}, a GPU each, but this machine has {there};" in done.stderr
    assert not (tmp_path / "run").exists()


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="one GPU is like itself")
def test_every_gpu_of_the_machine_trains_and_validates_like_one(toy: Any, tmp_path: Path) -> None:  # noqa: ANN401
    plain = ["model.dropout=0.0", "model.attention_dropout=0.0", "training.precision=float32"]
    more = [word for assignment in plain for word in ("--set", assignment)]
    losses = []
    for n_gpus in (1, torch.cuda.device_count()):
        run = tmp_path / f"gpus-{n_gpus}"
        done = train(toy, run, "--gpus", str(n_gpus), *more)
        assert (done.returncode, done.stdout) == (0, "")
        losses.append([record["loss_nats"] for record in toy.metrics(run, "training")])
    assert losses[1] == pytest.approx(losses[0], rel=1e-3)
    assert len(losses[0]) == 24
