"""The arithmetic of the bench: medians, ratios, rates, slopes, padding, and what it reads from /proc."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

BENCH = Path(__file__).parents[2] / "recipes" / "bench"


def program(name: str, patch: pytest.MonkeyPatch) -> ModuleType:
    """Import one of the bench's programs, which import each other as neighbours."""
    patch.syspath_prepend(str(BENCH))
    return importlib.import_module(name)


@pytest.fixture
def figures(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    return program("figures", monkeypatch)


@pytest.fixture
def processes(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    return program("processes", monkeypatch)


def test_a_spread_is_the_middle_value_with_the_least_and_the_most(figures: ModuleType) -> None:
    assert tuple(figures.spread([3.0, 10.0, 1.0])) == (3.0, 1.0, 10.0)
    assert f"{figures.spread([1234.4, 2000.0]):,.0f}" == "1,617 (1,234 .. 2,000)"


def test_ratios_are_taken_round_by_round_and_not_between_medians(figures: ModuleType) -> None:
    # The ratios are 3, 1 and 4; that of the medians would be 20 / 10.
    assert tuple(figures.ratios([30.0, 10.0, 20.0], [10.0, 10.0, 5.0])) == (3.0, 1.0, 4.0)
    assert figures.ratios([30.0], [10.0, 99.0]).median == 3.0


def test_a_rate_between_reports_weighs_each_by_its_time(figures: ModuleType) -> None:
    # 100 a second for 1 s and 10 a second for 9 s are 190 in 10 s; the first report counts for nothing.
    records = [
        {"seconds": 5.0, "a": 777.0, "b": 0.0},
        {"seconds": 6.0, "a": 60.0, "b": 40.0},
        {"seconds": 15.0, "a": 10.0, "b": 0.0},
    ]
    assert figures.rate_between(records, ["a", "b"]) == pytest.approx(19.0)
    assert figures.rate_between(records, ["b"]) == pytest.approx(4.0)


def test_a_slope_is_that_of_the_nearest_line(figures: ModuleType) -> None:
    assert figures.slope([(0, 1.0), (1, 3.0), (2, 5.0)]) == pytest.approx(2.0)
    assert figures.slope([(0, 0.0), (1, 3.0), (2, 0.0)]) == pytest.approx(0.0)


def test_the_error_of_a_difference_comes_from_the_spread_within_both(figures: ModuleType) -> None:
    # Variances 1 and 4, three values each: the square root of 1/3 + 4/3.
    difference, error = figures.difference_in_noise([1.0, 2.0, 3.0], [4.0, 6.0, 8.0])
    assert difference == pytest.approx(4.0)
    assert error == pytest.approx((5 / 3) ** 0.5)


def test_a_result_that_is_no_number_is_not_written(figures: ModuleType, tmp_path: Path) -> None:
    target = tmp_path / "out" / "result.json"
    figures.write_result(target, {"speed": figures.spread([2.0])})
    assert json.loads(target.read_text(encoding="utf-8")) == {"speed": [2.0, 2.0, 2.0]}
    with pytest.raises(ValueError, match="Out of range"):
        figures.write_result(target, {"speed": float("nan")})
    assert json.loads(target.read_text(encoding="utf-8")) == {"speed": [2.0, 2.0, 2.0]}


def test_the_times_of_a_process_are_read_past_any_name_that_it_has(processes: ModuleType) -> None:
    stat = "42 (a) b (c) S 1 77 77 0 -1 4194560 9 0 0 0 150 50 25 75 20 0 1 0 100 0 0"
    times = processes.times_of(stat)
    assert times.group == 77
    assert times.cpu_seconds == pytest.approx(300 / processes.TICKS_A_SECOND)


def test_a_group_has_its_processes_their_memory_and_their_time(processes: ModuleType) -> None:
    wasteful = """
import time
x = bytearray(200_000_000)
x = None
while time.process_time() < 0.3: pass
print(flush=True)
input()
"""
    process = subprocess.Popen(
        [sys.executable, "-c", wasteful], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
    )
    try:
        assert process.stdout is not None
        process.stdout.readline()
        assert processes.members(process.pid) == [process.pid]
        assert processes.memory_bytes(process.pid, "VmHWM") > 200_000_000 > processes.memory_bytes(process.pid, "VmRSS")
        assert processes.cpu_seconds(process.pid) >= 0.25
    finally:
        process.communicate(b"\n")
    assert processes.members(process.pid) == []
    assert processes.memory_bytes(process.pid, "VmRSS") == 0


def test_the_machine_has_been_busy_for_as_long_as_this_process_at_least(processes: ModuleType) -> None:
    before, began = processes.busy_seconds(), time.process_time()
    while time.process_time() < began + 0.2:
        pass
    assert processes.busy_seconds() - before >= 0.15


def test_a_report_that_is_half_written_is_not_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    window = program("window", monkeypatch)
    metrics = tmp_path / "metrics.jsonl"
    assert window.training_records(metrics) == []
    metrics.write_text('{"kind": "training", "step": 1}\n{"kind": "validation", "step": 1}\n{"kind": "trai', "utf-8")
    assert window.training_records(metrics) == [{"kind": "training", "step": 1}]


def test_positions_of_a_side_are_pairs_times_the_longest(monkeypatch: pytest.MonkeyPatch) -> None:
    padding = program("padding", monkeypatch)
    lengths = np.array([3, 5, 2, 9])
    assert padding.positions_of([np.array([0, 1]), np.array([2]), np.array([2, 3])], lengths) == 10 + 2 + 18


def test_synthetic_sentences_have_one_length_and_use_every_letter(monkeypatch: pytest.MonkeyPatch) -> None:
    synthetic = program("synthetic", monkeypatch)
    lines = synthetic.sentences(300, 12, 50, seed=1)
    # A mark of a space and an end symbol are tokens too; 260 pieces are no letters.
    assert [len(line) for line in lines] == [10] * 50
    assert len(set("".join(lines))) == 40
    assert lines != synthetic.sentences(300, 12, 50, seed=2)
    assert len(synthetic.LETTERS) == len(set(synthetic.LETTERS)) >= 32_000 - synthetic.OTHER_PIECES


def test_precisions_are_compared_by_the_figures_of_a_validation(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    precision = program("precision", monkeypatch)
    metrics = tmp_path / "metrics.jsonl"
    results = []
    for name, bleus in {"float32": [30.0, 32.0], "bfloat16": [31.0, 33.0]}.items():
        for seed, bleu in enumerate(bleus):
            record = dict.fromkeys(precision.FIGURES, 1.0) | {"validation_bleu": bleu, "kind": "validation", "step": 9}
            metrics.write_text(json.dumps(record) + "\n", encoding="utf-8")
            assert precision.validation_at(metrics, 8) is None
            results.append(tmp_path / f"{name}-{seed}.json")
            seen = {"precision": name, "seed": seed, "preset": "multi30k"} | precision.validation_at(metrics, 9)
            results[-1].write_text(json.dumps(seen), encoding="utf-8")
    precision.compare_all(results, tmp_path / "compared.json")
    # Variances 2 and 2 of two values each: an error of the square root of 2.
    assert "| validation BLEU | 31.0000 (30.0000 .. 32.0000) | 32.0000 (31.0000 .. 33.0000) | +1.0000 | 1.4142 |" in (
        capsys.readouterr().out
    )


def test_synthetic_ids_are_as_long_and_as_uneven_as_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    made = program("synthetic_ids", monkeypatch)
    data = made.synthetic_data(n_pairs=20_000, vocabulary=1_000, seed=1)
    corpus = data.train_split()
    lengths = np.log(corpus.source.lengths), np.log(corpus.target.lengths / corpus.source.lengths)
    assert np.median(corpus.source.lengths) == pytest.approx(24, abs=1)
    assert 0.5 < lengths[0].std() < 0.62  # 0.6 less what is cut off at 100
    assert 0.15 < lengths[1].std() < 0.25
    assert corpus.source.lengths.max() == corpus.target.lengths.max() == 100
    for side in (corpus.source, corpus.target):
        ends = side.offsets[1:] - 1
        assert set(side.ids[ends].tolist()) == {1}
        inside = np.delete(side.ids, ends)
        assert (inside.min(), inside.max()) == (3, 999)
        frequent = np.bincount(inside)
        assert frequent[3] / frequent[13] == pytest.approx((11 + 2.7) / (1 + 2.7), rel=0.05)
    again = made.synthetic_data(n_pairs=20_000, vocabulary=1_000, seed=1).train_split()
    assert np.array_equal(again.source.ids, corpus.source.ids)


def mfu(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, BENCH / "mfu.py", "--preset", "tiny", *arguments], capture_output=True, text=True, check=False
    )


def test_without_a_gpu_its_peak_is_refused_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    done = mfu()
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "mfu: this machine has no CUDA device; --device cpu with --preset tiny shows only that it works\n"
    )


@pytest.mark.slow
def test_the_share_of_the_peak_is_model_flops_by_time_by_peak_and_both_paths_learn_alike(tmp_path: Path) -> None:
    more = ["training.tokens_per_update=300", "model.d_model=32", "model.d_ff=64", "model.n_heads=2"]
    sets = [word for one in more for word in ("--set", one)]
    small = ["--rounds", "2", "--updates", "2", "--curve", "5", "--vocabulary", "300"]
    done = mfu("--device", "cpu", *small, *sets, "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    result = json.loads((tmp_path / "mfu-tiny.json").read_text(encoding="utf-8"))
    assert len(result["matrix_peaks"]) == 3
    for mode in ("packed", "padded"):
        shares = [100 * speed / max(result["matrix_peaks"]) for speed in result["model_flops_per_second"][mode]]
        assert result["percent_of_peak"][mode] == pytest.approx([sum(shares) / 2, min(shares), max(shares)])
        assert f"| {mode} | " in done.stdout
    packed, padded, otherwise = result["curves"].values()
    assert [len(curve) for curve in (packed, padded, otherwise)] == [5, 5, 5]
    assert packed == pytest.approx(padded, rel=1e-2)
    assert otherwise == pytest.approx(padded, rel=1e-2)
    assert otherwise != padded
    assert packed[-1] < packed[0]
    assert "aten::mm" in (tmp_path / "mfu-tiny-profile.txt").read_text(encoding="utf-8")
