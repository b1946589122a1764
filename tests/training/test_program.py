"""`nmt train` as a process: signals, kills at any moment, many ranks, mistakes in one line."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nmt_cli.training.start import run_training

PROGRAM = Path(sys.executable).parent / "nmt"
WEIGHTS = "weights.safetensors"


def command(toy: Any, run: Path, *more: str) -> list[str | Path]:  # noqa: ANN401
    return [PROGRAM, "train", toy.corpus, "--config", toy.config, "--run", run, *more]


def start(toy: Any, run: Path, *more: str) -> subprocess.Popen[str]:  # noqa: ANN401
    return subprocess.Popen(
        command(toy, run, *more), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8"
    )


def wait_for_step(process: subprocess.Popen[str], run: Path, step: int) -> None:
    """Return when the run has reported a step, or its process has ended."""
    metrics = run / "metrics.jsonl"
    while process.poll() is None:
        if metrics.exists() and f'"step": {step},' in metrics.read_text(encoding="utf-8"):
            return
        time.sleep(0.002)


def test_sigterm_saves_and_ends_with_143_and_the_same_command_goes_on(toy: Any, tmp_path: Path) -> None:  # noqa: ANN401
    run = tmp_path / "run"
    process = start(toy, run, "--max-steps", "100000", "--set", "training.save_every_steps=100000")
    wait_for_step(process, run, 3)
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate()
    assert (process.returncode, out) == (143, "")
    last = toy.metrics(run, "training")[-1]["step"]
    assert f"nmt: stopped at step {last:,}; the same command goes on" in err.splitlines()
    assert (run / "last").resolve().name == f"step-{last:08}"
    assert toy.train(run, f"training.max_steps={last + 1}", "training.save_every_steps=100000").step == last + 1
    assert [record["step"] for record in toy.metrics(run, "training")] == list(range(1, last + 2))


def test_quiet_training_says_nothing_and_logs_all(toy: Any, tmp_path: Path) -> None:  # noqa: ANN401
    done = subprocess.run(
        command(toy, tmp_path / "run", "--quiet", "--max-steps", "2"), capture_output=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert any(line.startswith("step 2/2") for line in toy.log(tmp_path / "run"))


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--set", "model.tying=none", "--set", "model.d_model=15"], 2, "d_k"),
        (["--set", "training.max_stepz=3"], 2, "did you mean 'max_steps'?"),
        (["--set", "training.max_length=1"], 3, "no training pair has at most 1 tokens a side"),
        (["--set", "model.positions=learned", "--set", "model.max_positions=10"], 2, "model.max_positions is 10"),
    ],
)
def test_a_mistake_is_one_line_and_its_code(
    toy: Any,  # noqa: ANN401
    tmp_path: Path,
    arguments: list[str],
    code: int,
    said: str,
) -> None:
    done = subprocess.run(
        command(toy, tmp_path / "run", *arguments), capture_output=True, text=True, check=False, encoding="utf-8"
    )
    assert done.returncode == code
    [line] = [line for line in done.stderr.splitlines() if line.startswith("nmt: ")]
    assert said in line
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_killed_at_random_moments_and_continued_ends_with_the_same_bits(
    toy: Any,  # noqa: ANN401
    tmp_path: Path,
    whole_run: Path,
) -> None:
    draw = random.Random(11)  # noqa: S311 - moments, no secret
    run = tmp_path / "run"
    for step in (1, 5, 10, 13, 15, 20, 21, 24):
        process = start(toy, run)
        wait_for_step(process, run, step)
        time.sleep(draw.random() * 0.02)
        process.kill()
        process.communicate()
    for wait in (0.2, 0.9, 1.5, 2.0, 2.5):  # before, while and after it reads its checkpoint
        process = start(toy, run)
        time.sleep(wait)
        process.kill()
        process.communicate()
    done = subprocess.run(command(toy, run), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")
    assert (run / "last").resolve().name == "step-00000024"
    assert (run / "last" / WEIGHTS).read_bytes() == (whole_run / "last" / WEIGHTS).read_bytes()
    found, expected = (toy.metrics(path, "training") for path in (run, whole_run))
    assert [repr(r["learning_rate"]) for r in found] == [repr(r["learning_rate"]) for r in expected]
    assert [record["step"] for record in found] == list(range(1, 25))


@pytest.mark.slow
def test_killed_before_anything_was_written_begins_anew(
    toy: Any,  # noqa: ANN401
    tmp_path: Path,
    whole_run: Path,
) -> None:
    run = tmp_path / "run"
    process = start(toy, run)
    while process.poll() is None and not run.exists():
        time.sleep(0.0005)
    process.kill()
    process.communicate()
    done = subprocess.run(command(toy, run, "--quiet"), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert (run / "last" / WEIGHTS).read_bytes() == (whole_run / "last" / WEIGHTS).read_bytes()


@pytest.mark.slow
def test_two_ranks_killed_and_continued_end_with_the_bits_of_two_ranks(toy: Any, tmp_path: Path) -> None:  # noqa: ANN401
    two = ["--set", "machine.ranks=2"]
    whole, run = tmp_path / "whole", tmp_path / "run"
    subprocess.run(command(toy, whole, "--quiet", *two), check=True)
    for step in (13, 15, 21):
        process = start(toy, run, *two)
        wait_for_step(process, run, step)
        process.kill()
        process.communicate()
    subprocess.run(command(toy, run, "--quiet", *two), check=True)
    assert (run / "last" / WEIGHTS).read_bytes() == (whole / "last" / WEIGHTS).read_bytes()
    losses = [[record["loss_nats"] for record in toy.metrics(path, "training")] for path in (run, whole)]
    assert losses[0] == losses[1]
    assert len(losses[0]) == 24


@pytest.mark.slow
def test_fewer_pairs_than_ranks_give_the_losses_of_one_rank(
    toy: Any,  # noqa: ANN401
    tmp_path: Path,
    make_corpus: Callable[..., Path],
) -> None:
    corpus = make_corpus("three", train=toy.sentences(3, seed=4), valid=toy.sentences(1, seed=5))
    plain = ["model.dropout=0.0", "model.attention_dropout=0.0", "training.max_steps=9"]
    one_at_a_time = [*plain, "training.tokens_per_update=1", "training.validate_every_steps=3"]
    losses = []
    for n_ranks in (1, 2, 4):
        run = tmp_path / f"ranks-{n_ranks}"
        settings = toy.settings(*one_at_a_time, f"machine.ranks={n_ranks}")
        assert run_training(corpus, run, settings, quiet=True).epoch == 3
        kinds = [("training", "loss_nats"), ("validation", "validation_loss_nats")]
        losses.append([record[name] for kind, name in kinds for record in toy.metrics(run, kind)])
    assert losses[1] == pytest.approx(losses[0], rel=1e-6)
    assert losses[2] == pytest.approx(losses[0], rel=1e-6)
