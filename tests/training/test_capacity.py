"""How many ranks a new run takes on a CPU: one a core, as far as memory goes."""

from __future__ import annotations

from pathlib import Path

import pytest

from nmt_cli.settings_files import resolve
from nmt_cli.training import capacity
from nmt_cli.training.capacity import Capacity, bytes_available, bytes_of_rank, capacity_for

GB = 10**9


@pytest.mark.parametrize(
    ("cores", "available", "ranks"),
    [(8, 100 * GB, 8), (8, 8 * GB - 1, 3), (8, 4 * GB, 2), (8, GB, 1), (8, 0, 1), (8, None, 8), (1, 100 * GB, 1)],
)
def test_a_rank_a_core_as_far_as_memory_goes_and_one_at_least(cores: int, available: int | None, ranks: int) -> None:
    assert Capacity(cores, available, bytes_a_rank=2 * GB).ranks == ranks


def test_a_rank_of_base_is_worked_out_as_by_hand() -> None:
    base = resolve(preset="base", config=None).model
    activations = 4 * 1000 * (6 * (12 * 512 + 2 * 2048) + 6 * (20 * 512 + 2 * 2048))
    assert bytes_of_rank(base, 65_000_000, micro_batch_tokens=1000) == 500_000_000 + 20 * 65_000_000 + activations


def test_the_parameters_of_the_model_count_without_their_memory_being_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capacity, "bytes_available", lambda: 10 * GB)
    monkeypatch.setattr(capacity, "cores_to_use", lambda: 64)
    small, large = (
        capacity_for(resolve(preset="big", config=None), source_vocab_size=size, target_vocab_size=size)
        for size in (1_000, 5_000_000)
    )
    assert large.bytes_a_rank - small.bytes_a_rank == 20 * 1024 * (5_000_000 - 1_000)
    assert (small.ranks, large.ranks) == (1, 1)


@pytest.mark.parametrize(
    ("system", "groups", "available"),
    [
        (9_000_000, {}, 9_000_000 * 1024),
        (9_000_000, {"job": (4 * GB, 3 * GB, GB // 2)}, 3 * GB // 2),
        (9_000_000, {"": (5 * GB, 4 * GB, 0), "job": ("max", 3 * GB, 0)}, GB),
        (1_000, {"job": (4 * GB, GB, 0)}, 1_024_000),
        (9_000_000, {"job": (GB, 2 * GB, 0)}, 0),
        (None, {}, None),
    ],
)
def test_memory_is_what_system_and_groups_leave(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    system: int | None,
    groups: dict[str, tuple[int | str, int, int]],
    available: int | None,
) -> None:
    if system is not None:
        (tmp_path / "meminfo").write_text(f"MemTotal: 99999999 kB\nMemAvailable: {system} kB\n")
    (tmp_path / "cgroup").write_text("12:cpu:/elsewhere\n0::/job\n")
    for name, (limit, used, cached) in groups.items():
        folder = tmp_path / "groups" / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "memory.max").write_text(f"{limit}\n")
        (folder / "memory.current").write_text(f"{used}\n")
        (folder / "memory.stat").write_text(f"anon 7\ninactive_file {cached}\nactive_file 3\n")
    monkeypatch.setattr(capacity, "MEMORY", tmp_path / "meminfo")
    monkeypatch.setattr(capacity, "OWN_GROUP", tmp_path / "cgroup")
    monkeypatch.setattr(capacity, "CONTROL_GROUPS", tmp_path / "groups")
    assert bytes_available() == available


def test_a_moving_average_takes_four_bytes_a_parameter_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capacity, "bytes_available", lambda: 10 * GB)
    without, with_it = (
        capacity_for(
            resolve(preset="base", config=None, assignments=more), source_vocab_size=37_000, target_vocab_size=37_000
        ).bytes_a_rank
        for more in ([], ["training.ema_decay=0.999"])
    )
    assert with_it - without == 4 * 63_045_632
