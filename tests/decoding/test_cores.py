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
    monkeypatch.setattr(of_cores, "CONTROL_GROUPS", tmp_path)
    monkeypatch.setattr(of_cores, "OWN_GROUPS", tmp_path / "no such file")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _process: set(range(6)))
    assert cores_to_use() == cores
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: 6)
    assert cores_to_use() == cores


@pytest.mark.parametrize(
    ("own", "files", "cores"),
    [
        ("0::/a/b\n", {"a/b/cpu.max": "200000 100000"}, 2),
        ("0::/a/b\n", {"a/b/cpu.max": "max 100000", "a/cpu.max": "300000 100000"}, 3),
        ("0::/a/b\n", {"a/b/cpu.max": "500000 100000", "a/cpu.max": "max 100000", "cpu.max": "400000 100000"}, 4),
        ("0::/a\n", {"b/cpu.max": "100000 100000"}, 6),
        ("0::/../b\n", {"b/cpu.max": "100000 100000"}, 1),
        ("0::/gone/from/here\n", {"cpu.max": "500000 100000"}, 5),
        (
            "7:memory:/m\n4:cpu,cpuacct:/job\n",
            {"cpu,cpuacct/job/cpu.cfs_quota_us": "250000", "cpu,cpuacct/job/cpu.cfs_period_us": "100000"},
            2,
        ),
        (
            "4:cpuset,cpu:/job\n0::/\n",
            {
                "cpu/job/cpu.cfs_quota_us": "-1",
                "cpu/job/cpu.cfs_period_us": "100000",
                "cpu/cpu.cfs_quota_us": "150000",
                "cpu/cpu.cfs_period_us": "50000",
            },
            3,
        ),
        ("4:cpuset:/job\n", {"cpuset/job/cpu.cfs_quota_us": "1", "cpuset/job/cpu.cfs_period_us": "1"}, 6),
        ("not what is expected", {"cpu.max": "500000 100000"}, 5),
    ],
)
def test_the_least_quota_on_the_way_from_the_own_group_to_the_root_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own: str, files: dict[str, str], cores: int
) -> None:
    for name, text in files.items():
        (tmp_path / "groups" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "groups" / name).write_text(f"{text}\n")
    (tmp_path / "own").write_text(own)
    monkeypatch.setattr(of_cores, "CONTROL_GROUPS", tmp_path / "groups")
    monkeypatch.setattr(of_cores, "OWN_GROUPS", tmp_path / "own")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _process: set(range(6)))
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
