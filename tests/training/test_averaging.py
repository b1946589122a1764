"""The mean of checkpoints, and which ones it is taken of."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

from nmt_cli.config import TextConfig
from nmt_cli.errors import ModelError, UsageError
from nmt_cli.model_folder import open_model_folder, subword_files, write_model_folder
from nmt_cli.training.averaging import average_models, choose_best_checkpoints, choose_checkpoints
from nmt_cli.training.start import run_training

PROGRAM = Path(sys.executable).parent / "nmt"


def steps(paths: list[Path]) -> list[int]:
    return [int(path.name.removeprefix("step-")) for path in paths]


def test_the_average_is_the_mean_of_each_number(whole_run: Path, tmp_path: Path) -> None:
    paths = choose_checkpoints(whole_run, last=3)
    average_models(paths, tmp_path / "mean")
    files = [load_file(path / "weights.safetensors") for path in paths]
    mean = load_file(tmp_path / "mean" / "weights.safetensors")
    assert mean.keys() == files[0].keys()
    for name, array in mean.items():
        exact = np.mean([file[name].astype(np.float64) for file in files], axis=0)
        assert array.dtype == np.float32
        assert np.array_equal(array, exact.astype(np.float32)), name
    assert not np.array_equal(mean["source_embedding.weight"], files[2]["source_embedding.weight"])


def test_an_average_is_a_model_that_names_its_parents(whole_run: Path, tmp_path: Path) -> None:
    paths = choose_checkpoints(whole_run, last=2)
    average_models(paths, tmp_path / "mean")
    model, parents = open_model_folder(tmp_path / "mean"), [open_model_folder(path) for path in paths]
    assert model.description.step == 24
    assert model.description.scores == {}
    assert model.description.model == parents[0].description.model
    assert [parent["weights"] for parent in model.description.provenance["parents"]] == [
        parent.digests["weights.safetensors"] for parent in parents
    ]
    average_models([tmp_path / "mean", paths[0]], tmp_path / "mean of means")
    assert open_model_folder(tmp_path / "mean of means").description.step == 24


def test_the_last_n_are_the_newest_written_at_their_turn(
    toy: Any,  # noqa: ANN401
    tmp_path: Path,
    whole_run: Path,
    best_at: Callable[[int], None],
) -> None:
    assert steps(choose_checkpoints(whole_run, last=1)) == [24]
    assert steps(choose_checkpoints(whole_run, last=4)) == [10, 15, 20, 24]
    run = tmp_path / "run"
    best_at(18)
    toy.train(run, "training.validate_every_steps=6")
    kept = sorted(int(path.name[5:]) for path in (run / "checkpoints").iterdir())
    assert kept == [5, 10, 15, 18, 20, 24]  # 18, the best, out of turn
    assert steps(choose_checkpoints(run, last=5)) == [5, 10, 15, 20, 24]
    with pytest.raises(ModelError, match="has 5 checkpoints, but --last is 6"):
        choose_checkpoints(run, last=6)


def test_what_is_no_run_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no run"):
        choose_checkpoints(tmp_path / "none", last=1)
    with pytest.raises(ModelError, match="no run"):
        choose_best_checkpoints(tmp_path / "none", best=1)


@pytest.fixture
def scored(toy: Any, tmp_path: Path) -> Callable[..., Path]:  # noqa: ANN401
    """Return what trains a run with checkpoints 5, 10, 15, 20 and 24, and writes other scores into its metrics."""

    def train(bleus: dict[int, float | None], losses: dict[int, float], *assignments: str) -> Path:
        run = tmp_path / "run"
        toy.train(run, "training.validate_every_steps=100", *assignments)
        lines = [line for line in (run / "metrics.jsonl").read_text().splitlines() if '"validation"' not in line]
        for step, bleu in bleus.items():
            record = {"kind": "validation", "step": step, "validation_bleu": bleu}
            lines.append(json.dumps(record | {"validation_perplexity": losses[step]}))
        (run / "metrics.jsonl").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        return run

    return train


BLEUS: dict[int, float | None] = {5: 3.0, 10: 9.0, 12: 99.0, 15: 7.0, 20: 9.0, 24: None}
PERPLEXITIES = {5: 80.0, 10: 20.0, 12: 1.0, 15: 10.0, 20: 40.0, 24: 15.0}


def test_the_best_n_are_those_that_validation_found_best_and_of_equals_the_earlier(scored: Callable[..., Path]) -> None:
    run = scored(BLEUS, PERPLEXITIES)  # step 12 has no checkpoint, step 24 no number
    assert [steps(choose_best_checkpoints(run, best=n)) for n in (1, 2, 3, 4)] == [
        [10],
        [10, 20],
        [10, 15, 20],
        [5, 10, 15, 20],
    ]
    with pytest.raises(ModelError, match=r"has 4 checkpoints with a validation of their own, but --best is 5; "):
        choose_best_checkpoints(run, best=5)


def test_where_patience_goes_by_loss_the_best_go_by_it_too(scored: Callable[..., Path]) -> None:
    run = scored(BLEUS, PERPLEXITIES, "training.best_by=loss")
    assert [steps(choose_best_checkpoints(run, best=n)) for n in (1, 2, 3)] == [[15], [15, 24], [10, 15, 24]]


def test_the_best_one_is_the_best_of_the_run(toy: Any, tmp_path: Path) -> None:  # noqa: ANN401
    run = tmp_path / "run"
    toy.train(run, "training.validate_every_steps=3", "training.best_by=loss")
    assert choose_best_checkpoints(run, best=1) == [(run / "best").resolve()]


def test_unlike_models_are_refused_and_both_named(
    toy: Any,  # noqa: ANN401
    tmp_path: Path,
    whole_run: Path,
    make_corpus: Callable[..., Path],
) -> None:
    toy.train(tmp_path / "wider", "training.max_steps=1", "model.d_ff=48")
    other = make_corpus("other", train=toy.sentences(60, seed=9))
    run_training(other, tmp_path / "other words", toy.settings("training.max_steps=1"), quiet=True)
    for run in ("wider", "other words"):
        paths = [whole_run / "last", tmp_path / run / "last"]
        with pytest.raises(ModelError, match="only like models can be averaged") as caught:
            average_models(paths, tmp_path / "mean")
        assert all(str(path) in str(caught.value) for path in paths)
    assert not (tmp_path / "mean").exists()


@pytest.mark.parametrize("name", ["text", "source_language", "target_language"])
def test_models_for_other_text_are_not_averaged(whole_run: Path, tmp_path: Path, name: str) -> None:
    model = open_model_folder(whole_run / "last")
    change = {"text": TextConfig(lowercase=True), "source_language": "fr", "target_language": "fr"}[name]
    (tmp_path / "other").mkdir()
    write_model_folder(
        tmp_path / "other",
        weights=model.weights(),
        description=model.description.model_copy(update={name: change}),
        subwords=subword_files(model),
    )
    with pytest.raises(ModelError, match=f"differ in {name}; only like models"):
        average_models([whole_run / "last", tmp_path / "other"], tmp_path / "mean")


def test_a_model_is_not_replaced_by_its_own_average(whole_run: Path, tmp_path: Path) -> None:
    shutil.copytree(whole_run / "last", tmp_path / "model")
    before = (tmp_path / "model" / "weights.safetensors").read_bytes()
    with pytest.raises(UsageError, match="is one of the models to average"):
        average_models([tmp_path / "model", whole_run / "last"], tmp_path / "model", force=True)
    with pytest.raises(UsageError, match="give --force"):
        average_models([whole_run / "last"], tmp_path / "model")
    assert (tmp_path / "model" / "weights.safetensors").read_bytes() == before


def nmt(*arguments: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([PROGRAM, *arguments], cwd=cwd, capture_output=True, text=True, check=False)


def test_the_command_writes_models_run_avg_n(whole_run: Path, tmp_path: Path) -> None:
    done = nmt("average", whole_run, "--last", "2", cwd=tmp_path)
    out = tmp_path / "models" / "whole-avg2"
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "models/whole-avg2: the mean of step-00000020, step-00000024\n"
    assert len(open_model_folder(out).description.provenance["parents"]) == 2
    done = nmt("average", whole_run, "--last", "2", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr == "nmt: models/whole-avg2: exists; give --force to replace it, or name another place\n"


def test_an_average_can_be_stored_in_a_byte_a_weight_and_averaged_again(whole_run: Path, tmp_path: Path) -> None:
    done = nmt("average", whole_run, "--last", "2", "--store", "int8", "--out", "small", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "small: the mean of step-00000020, step-00000024\n")
    average_models(choose_checkpoints(whole_run, last=2), tmp_path / "mean")
    small, mean = open_model_folder(tmp_path / "small"), open_model_folder(tmp_path / "mean").weights()
    assert small.stored_weights()["source_embedding.weight"].dtype == np.int8
    average_models([tmp_path / "small"], tmp_path / "again")
    again = load_file(tmp_path / "again" / "weights.safetensors")
    assert again.keys() == mean.keys()
    for name, array in mean.items():
        step = np.abs(array).max(axis=-1, keepdims=True) / 127 if array.ndim == 2 else 0.0
        assert (np.abs(again[name] - array) <= 0.5001 * step).all(), name


def test_the_command_writes_models_run_best_n(whole_run: Path, tmp_path: Path) -> None:
    done = nmt("average", whole_run, "--best", "1", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == f"models/whole-best1: the mean of {(whole_run / 'best').resolve().name}\n"
    done = nmt("average", whole_run, "--best", "3", cwd=tmp_path)
    assert done.returncode == 4
    assert "has 2 checkpoints with a validation of their own, but --best is 3; " in done.stderr
    assert done.stderr.count("\n") == 1
    done = nmt("average", whole_run, "--best", "2", "--last", "3", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr == "nmt: --last 3 and --best 2 choose different checkpoints; give one of them\n"


@pytest.mark.parametrize("option", ["--last", "--best"])
def test_no_checkpoints_are_chosen_where_models_are_named(whole_run: Path, tmp_path: Path, option: str) -> None:
    done = nmt("average", whole_run / "last", whole_run / "best", option, "2", "--out", "mean", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr == (
        f"nmt: {option} 2 chooses checkpoints of one run, but models are named; leave one of them out\n"
    )
    assert list(tmp_path.iterdir()) == []


def test_a_model_that_lacks_a_tensor_is_not_averaged(whole_run: Path, tmp_path: Path) -> None:
    model = open_model_folder(whole_run / "last")
    weights = model.weights()
    del weights["encoder_layers.0.feed_forward.inner.bias"]
    (tmp_path / "lacking").mkdir()
    write_model_folder(
        tmp_path / "lacking", weights=weights, description=model.description, subwords=subword_files(model)
    )
    with pytest.raises(ModelError, match="have different tensors"):
        average_models([whole_run / "last", tmp_path / "lacking"], tmp_path / "mean")
    assert not (tmp_path / "mean").exists()


WITHOUT_TORCH = "import sys; sys.modules['torch'] = None; from nmt_cli.cli.main import main; main()"


def test_three_checkpoints_are_averaged_whatever_the_torch_since_it_is_not_asked(
    whole_run: Path, tmp_path: Path
) -> None:
    paths = choose_checkpoints(whole_run, last=3)
    without, usual = tmp_path / "without", tmp_path / "usual"
    command = [sys.executable, "-c", WITHOUT_TORCH, "average", *paths, "--out", without]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr
    average_models(paths, usual)
    assert (without / "weights.safetensors").read_bytes() == (usual / "weights.safetensors").read_bytes()
