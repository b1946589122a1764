"""Settings that nobody should give, and names that some will: each works, or is one line before anything is lost."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from nmt_cli.cli.main import app
from nmt_cli.cli.train import as_toml
from nmt_cli.errors import DivergedError, NmtError, UsageError
from nmt_cli.model_folder import open_model_folder
from nmt_cli.settings_files import parse_assignment, resolve
from nmt_cli.training.precision import Precision, default_precision
from nmt_cli.training.start import run_training

HUGE_STEPS = ("training.schedule=constant", "training.peak_learning_rate=1e39", "training.warmup_steps=1")


@pytest.mark.parametrize("assignment", ["training.micro_batch_tokens=1", "training.tokens_per_update=1"])
def test_a_pair_at_a_time_is_slow_and_no_mistake(toy: Any, tmp_path: Path, assignment: str) -> None:  # noqa: ANN401
    assert toy.train(tmp_path / "run", assignment, "training.max_steps=2").step == 2


def test_an_update_of_the_whole_corpus_holds_every_pair_once(toy: Any, tmp_path: Path) -> None:  # noqa: ANN401
    progress = toy.train(tmp_path / "run", f"training.tokens_per_update={10**30}", "training.max_steps=2")
    assert (progress.step, progress.epoch) == (2, 2)
    assert any("1 updates an epoch" in line and line.startswith("300 pairs") for line in toy.log(tmp_path / "run"))


@pytest.mark.parametrize(
    "assignment",
    [
        f"training.micro_batch_tokens={10**20}",
        "machine.rank_timeout_minutes=1e300",
        "training.patience=0",
        "training.ema_decay=1",
        "training.bpe_dropout=1",
        "machine.ranks=0",
    ],
)
def test_numbers_out_of_range_are_refused_by_name_and_value(toy: Any, assignment: str) -> None:  # noqa: ANN401
    name = assignment.partition("=")[0]
    with pytest.raises(UsageError, match=rf"{name} should be .*, but is \d") as caught:
        toy.settings(assignment)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("order", [("training.save_every_steps=1",), ("training.validate_every_steps=1",)])
def test_weights_driven_out_of_range_end_the_run_and_enter_no_checkpoint(
    toy: Any,  # noqa: ANN401
    tmp_path: Path,
    order: tuple[str, ...],
) -> None:
    run = tmp_path / "run"
    toy.train(run, "training.max_steps=3", "training.schedule=constant", "training.warmup_steps=1")
    good = open_model_folder(run / "last")
    (run / "config.toml").write_text(
        (run / "config.toml")
        .read_text(encoding="utf-8")
        .replace("peak_learning_rate = 0.0005", "peak_learning_rate = 1e39"),
        encoding="utf-8",
    )
    with pytest.raises(DivergedError, match=r"is not finite after step \d+; the last good .*step-00000003;") as caught:
        toy.train(run, *HUGE_STEPS, *order)
    assert caught.value.exit_code == 5
    assert (run / "last").resolve() == good.path.resolve()
    for folder in (run / "checkpoints").iterdir():
        assert all(np.isfinite(array).all() for array in open_model_folder(folder).weights().values())


NAMES = ["with space", "ü é", "🙂 𝔘", 'quote " and \\', "\x7f del", "tab\there"]


@pytest.mark.parametrize("name", NAMES)
def test_a_name_of_any_letters_reaches_the_settings_as_it_is(name: str) -> None:
    assert parse_assignment(f"training.fine_tune={as_toml(Path(name))}") == {"training": {"fine_tune": name}}


def test_a_name_that_is_not_utf_8_is_refused_as_that() -> None:
    with pytest.raises(UsageError, match="the name is not UTF-8"):
        as_toml(Path("m\udce4"))


def train_on(toy: Any, run: Path, model: Path, max_steps: int) -> Any:  # noqa: ANN401
    options = ["--set", "machine.ranks=1", "--device", "cpu", "--quiet", "--max-steps", str(max_steps)]
    arguments = ["train", str(toy.corpus), "--fine-tune", str(model), "--run", str(run), *options]
    return CliRunner().invoke(app, arguments)


def test_the_same_command_goes_on_without_the_model_that_it_began_with(
    toy: Any,  # noqa: ANN401
    whole_run: Path,
    tmp_path: Path,
) -> None:
    model, run = tmp_path / "модель 🙂", tmp_path / "Lauf ü"
    shutil.copytree((whole_run / "last").resolve(), model)
    assert train_on(toy, run, model, 2).exit_code == 0
    assert resolve(preset=None, config=run / "config.toml").training.fine_tune == str(model)
    shutil.rmtree(model)
    done = train_on(toy, run, model, 3)
    assert done.exit_code == 0, done.output
    assert (run / "last").resolve().name == "step-00000003"
    other = train_on(toy, run, tmp_path / "never there", 3)
    assert isinstance(other.exception, NmtError)
    assert "never there: no such folder" in str(other.exception)


def test_settings_with_which_nothing_was_trained_bind_nobody(toy: Any, whole_run: Path, tmp_path: Path) -> None:  # noqa: ANN401
    run = tmp_path / "run"
    with pytest.raises(NmtError, match="weights do not fit"):
        toy.train(run, f"training.fine_tune={whole_run / 'last'}", "model.d_ff=64")
    settings = toy.settings(f"training.fine_tune={whole_run / 'last'}", "training.max_steps=1")
    assert run_training(toy.corpus, run, settings, quiet=True).step == 1


@pytest.mark.parametrize(
    ("device", "has_bfloat16", "precision"), [("cuda", True, "bfloat16"), ("cuda", False, "float32")]
)
def test_a_gpu_that_has_bfloat16_is_given_it_and_never_float16(
    monkeypatch: pytest.MonkeyPatch,
    device: str,
    has_bfloat16: bool,
    precision: str,
) -> None:
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda *_, **__: has_bfloat16)
    assert default_precision(torch.device(device)) == precision
    assert "float16" not in get_args(Precision)
