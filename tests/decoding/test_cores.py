"""How many cores a process takes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import torch

from nmt_cli import cores as of_cores
from nmt_cli.cores import cores_to_use
from nmt_cli.decoding import engine
from nmt_cli.decoding.engine import use_allowed_cores


@pytest.mark.parametrize(
    ("share", "cores"),
    [
        ("max 100000\n", 6),
        ("400000 100000\n", 4),
        ("150000 100000\n", 1),
        ("50000 100000\n", 1),
        ("900000 100000\n", 6),
        ("", 6),
        (None, 6),
    ],
)
def test_a_process_takes_its_cores_and_no_more_than_its_group_has_time_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, share: str | None, cores: int
) -> None:
    if share is not None:
        (tmp_path / "cpu.max").write_text(share)
    monkeypatch.setattr(of_cores, "CONTROL_GROUP", tmp_path / "cpu.max")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _process: set(range(6)))
    assert cores_to_use() == cores
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: 6)
    assert cores_to_use() == cores


@pytest.mark.parametrize(("given", "threads"), [(None, 3), ("1", None)])
def test_omp_num_threads_is_the_users_word(
    monkeypatch: pytest.MonkeyPatch, given: str | None, threads: int | None
) -> None:
    asked: list[int] = []
    monkeypatch.setattr(torch, "set_num_threads", asked.append)
    monkeypatch.setattr(engine, "cores_to_use", lambda: 3)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    if given is not None:
        monkeypatch.setenv("OMP_NUM_THREADS", given)
    use_allowed_cores()
    assert asked == ([] if threads is None else [threads])
