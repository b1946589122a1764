"""A new run that begins with the weights of a model (report 10)."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from nmt_cli.cli.main import app
from nmt_cli.corpora.data_folder import open_data_folder
from nmt_cli.errors import ModelError, StoppedError, UsageError
from nmt_cli.model_folder import open_model_folder
from nmt_cli.settings_files import resolve
from nmt_cli.subwords.encoding import encode_corpus
from nmt_cli.training import loop
from nmt_cli.training.start import run_training

RATE = 3e-4
CONSTANT = [
    "training.schedule=constant",
    f"training.peak_learning_rate={RATE}",
    "training.warmup_steps=1",
    "training.max_steps=50",
]


@pytest.fixture
def new_pairs(make_corpus: Callable[..., Path], toy: Any, whole_run: Path) -> Path:  # noqa: ANN401
    """Twenty other pairs, encoded with the subwords of the model."""
    folder = make_corpus("new", train=toy.sentences(20, seed=9), valid=toy.sentences(5, seed=10))
    encode_corpus(open_data_folder(folder), folder / "pieces", None, model=whole_run / "last", force=True)
    return folder


def weights(run: Path, step: int) -> dict[str, Any]:
    return dict(open_model_folder(run / "checkpoints" / f"step-{step:08}").weights())


def test_fifty_updates_at_its_own_rate_follow_those_of_the_model(
    toy: Any,  # noqa: ANN401
    new_pairs: Path,
    whole_run: Path,
    tmp_path: Path,
) -> None:
    run = tmp_path / "run"
    settings = toy.settings(f"training.fine_tune={whole_run / 'last'}", *CONSTANT)
    assert run_training(new_pairs, run, settings, quiet=True).step == 50
    rates = [record["learning_rate"] for record in toy.metrics(run, "training")]
    assert rates == [RATE] * 50
    base, tuned = weights(whole_run, 24), weights(run, 50)
    assert all(not np.array_equal(base[name], tuned[name]) for name in base)
    provenance = open_model_folder(run / "last").description.provenance
    assert provenance["fine_tune"] == str(whole_run / "last")


def test_it_begins_with_the_weights_of_the_model_and_no_moments(
    toy: Any,  # noqa: ANN401
    new_pairs: Path,
    whole_run: Path,
    tmp_path: Path,
) -> None:
    run = tmp_path / "run"
    settings = toy.settings(f"training.fine_tune={whole_run / 'last'}", *CONSTANT, "training.max_steps=1")
    run_training(new_pairs, run, settings, quiet=True)
    base, tuned = weights(whole_run, 24), weights(run, 1)
    # Adam's first update moves a number by the rate, or less where its gradient is near epsilon.
    assert all(np.abs(base[name] - tuned[name]).max() <= RATE * 1.001 for name in base)
    assert max(np.abs(base[name] - tuned[name]).max() for name in base) > RATE / 2


def test_a_corpus_of_other_subwords_is_refused_with_the_way_out(
    toy: Any,  # noqa: ANN401
    make_corpus: Callable[..., Path],
    whole_run: Path,
    tmp_path: Path,
) -> None:
    other = make_corpus("other", train=toy.sentences(50, seed=4))
    with pytest.raises(UsageError, match=r"encoded with other subwords than those of .*: nmt bpe .*other --model"):
        run_training(other, tmp_path / "run", toy.settings(f"training.fine_tune={whole_run / 'last'}"), quiet=True)


def test_a_model_of_another_size_is_refused(toy: Any, whole_run: Path, tmp_path: Path) -> None:  # noqa: ANN401
    with pytest.raises(ModelError, match="weights do not fit their model"):
        toy.train(tmp_path / "run", f"training.fine_tune={whole_run / 'last'}", "model.n_encoder_layers=2")


def test_interrupted_and_continued_it_ends_with_the_same_bits_though_the_model_is_gone(
    toy: Any,  # noqa: ANN401
    new_pairs: Path,
    whole_run: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = shutil.copytree((whole_run / "last").resolve(), tmp_path / "model")
    settings = toy.settings(f"training.fine_tune={model}", *CONSTANT, "training.max_steps=12")
    run_training(new_pairs, tmp_path / "whole", settings, quiet=True)
    real = loop.advanced

    def asked_to_stop(progress: Any, *arguments: Any, **others: Any) -> Any:  # noqa: ANN401
        progress = real(progress, *arguments, **others)
        if progress.step == 7:
            raise StoppedError("here", exit_code=143)
        return progress

    monkeypatch.setattr(loop, "advanced", asked_to_stop)
    with pytest.raises(StoppedError):
        run_training(new_pairs, tmp_path / "run", settings, quiet=True)
    monkeypatch.undo()
    shutil.rmtree(model)
    run_training(new_pairs, tmp_path / "run", settings, quiet=True)
    whole, found = weights(tmp_path / "whole", 12), weights(tmp_path / "run", 12)
    assert all(np.array_equal(whole[name], found[name]) for name in whole)


def test_the_option_takes_sizes_and_search_from_the_model(
    new_pairs: Path,
    whole_run: Path,
    tmp_path: Path,
) -> None:
    run = tmp_path / "run"
    model = str(whole_run / "last")
    options = ["--set", "training.max_steps=2", "--set", "machine.ranks=1", "--device", "cpu", "--quiet"]
    found = CliRunner().invoke(app, ["train", str(new_pairs), "--fine-tune", model, "--run", str(run), *options])
    assert found.exit_code == 0, found.output
    settings = resolve(preset=None, config=run / "config.toml")
    described = open_model_folder(whole_run / "last").description
    assert (settings.model, settings.search) == (described.model, described.search)
    assert settings.training.fine_tune == model
    assert settings.training.schedule == "constant"
    again = CliRunner().invoke(app, ["train", str(new_pairs), "--preset", "tiny", "--run", str(run), *options])
    assert isinstance(again.exception, UsageError)
    assert f"training.fine_tune was {model!r}, now None" in str(again.exception)
