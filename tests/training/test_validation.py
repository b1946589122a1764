"""Validation uses all pairs and its BLEU is BLEU (reports 4 and 17); what it decides."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
import sacrebleu
import torch
from torch.nn import functional

from nmt_cli.batches.corpus import open_pieces
from nmt_cli.config import TrainingConfig
from nmt_cli.decoding.engine import TorchEngine
from nmt_cli.model.load import load_transformer
from nmt_cli.model_folder import open_model_folder
from nmt_cli.scoring.bleu import BleuResult
from nmt_cli.subwords.segmenter import Segmenter
from nmt_cli.training.loop import judged, out_of_patience
from nmt_cli.training.start import run_training
from nmt_cli.training.state import Progress
from nmt_cli.training.validation import ValidationResult

LEARNS = [
    "training.max_steps=60",
    "training.validate_every_steps=20",
    "training.save_every_steps=20",
    "training.schedule=constant",
    "training.peak_learning_rate=0.02",
    "model.d_model=32",
    "model.dropout=0.0",
    "training.max_length=8",
]


@pytest.fixture
def learned(toy: Any, tmp_path: Path, make_corpus: Callable[..., Path]) -> tuple[Path, Path]:  # noqa: ANN401
    """Return corpus and run of a model that copies well enough for a BLEU between 0 and 100.

    Some validation pairs are longer than training.max_length, and the last batch is not full.
    """
    source, _ = toy.sentences(300, seed=1)
    valid, _ = toy.sentences(13, seed=2)
    corpus = make_corpus("copies", train=(source, source), valid=(valid, valid))
    run_training(corpus, tmp_path / "run", toy.settings(*LEARNS), quiet=True)
    return corpus, tmp_path / "run"


def test_logged_bleu_is_that_of_the_redecoded_checkpoint_and_loss_covers_every_pair(
    toy: Any,  # noqa: ANN401
    learned: tuple[Path, Path],
) -> None:
    corpus, run = learned
    pieces = open_pieces(corpus)
    valid, segmenter = pieces.split("valid"), Segmenter.load(pieces.subwords_of("target"))
    assert max(valid.target.lengths) > 8
    for record in toy.metrics(run, "validation"):
        folder = open_model_folder(run / "checkpoints" / f"step-{record['step']:08}")
        sources = [valid.source.sentence(pair).tolist() for pair in range(13)]
        found = TorchEngine.load(folder).search(sources, folder.description.search)
        hypotheses = [segmenter.decode(best[0].ids) for best in found]
        references = (corpus / "valid.de").read_text(encoding="utf-8").splitlines()
        metric = sacrebleu.BLEU()
        assert record["validation_bleu"] == pytest.approx(metric.corpus_score(hypotheses, [references]).score, abs=0.01)
        assert record["validation_bleu_signature"] == str(metric.get_signature())
        chrf = sacrebleu.CHRF()
        assert record["validation_chrf"] == pytest.approx(chrf.corpus_score(hypotheses, [references]).score, abs=0.01)
        assert record["validation_chrf_signature"] == str(chrf.get_signature())
        for name in ("validation_bleu", "validation_chrf", "validation_chrf_signature"):
            assert folder.description.scores[name] == record[name]
        assert record["validation_tokens"] == sum(len(valid.target.sentence(pair)) for pair in range(13))
        assert record["validation_loss_nats"] == pytest.approx(loss_by_hand(folder, valid), rel=1e-5)
    assert toy.metrics(run, "validation")[-1]["validation_bleu"] > 1
    assert any("over 13 pairs" in line for line in toy.log(run))


@torch.no_grad()
def loss_by_hand(folder: Any, valid: Any) -> float:  # noqa: ANN401
    model = load_transformer(folder)
    losses: list[float] = []
    for pair in range(len(valid)):
        source, target = (
            torch.from_numpy(side.sentence(pair).astype(np.int64))[None] for side in (valid.source, valid.target)
        )
        log_probs = model.logits(model(source, functional.pad(target[:, :-1], (1, 0)))).log_softmax(-1)[0]
        other = 0.1 / (log_probs.size(1) - 1)
        for row, gold in zip(log_probs, target[0].tolist(), strict=True):
            losses.append(-0.9 * row[gold].item() - other * (row.sum() - row[gold]).item())
    return sum(losses) / len(losses)


def test_thirteen_pairs_are_trained_on_and_the_log_says_how_many_an_epoch_uses(
    toy: Any,  # noqa: ANN401
    tmp_path: Path,
    make_corpus: Callable[..., Path],
) -> None:
    source, target = toy.sentences(13, seed=4)
    corpus = make_corpus("thirteen", train=(source, target))
    settings = toy.settings("training.max_steps=1", "training.tokens_per_update=8000", "training.max_length=6")
    run_training(corpus, tmp_path / "run", settings, quiet=True)
    lengths = open_pieces(corpus).split("train").source.lengths
    n_too_long = int((lengths > 6).sum())
    assert n_too_long > 0
    log = toy.log(tmp_path / "run")
    assert any(
        line.startswith(f"{13 - n_too_long} pairs ({n_too_long} longer than 6 tokens left out), 1 updates an epoch")
        for line in log
    )
    assert any("no validation split" in line for line in log)


def result(*, bleu: float, loss: float) -> ValidationResult:
    score = cast("BleuResult", SimpleNamespace(score=bleu, signature="made up"))
    return ValidationResult(
        smoothed_loss=loss, plain_loss=loss, target_tokens=1, bleu=score, chrf=score, hypotheses=[], samples=[]
    )


def config(**changes: object) -> TrainingConfig:
    values = {"max_steps": 100, "tokens_per_update": 1, "save_every_steps": 1, "validate_every_steps": 1}
    return TrainingConfig.model_validate(values | {"warmup_steps": 4, "patience": 2} | changes)


@pytest.mark.parametrize(
    ("best_by", "best_step", "stops_at"),
    [("bleu", 2, 4), ("loss", 3, 5)],
)
def test_patience_counts_validations_since_the_best(best_by: str, best_step: int, stops_at: int) -> None:
    validations = [result(bleu=b, loss=x) for b, x in [(10, 3.0), (20, 2.0), (20, 1.5), (15, 1.7), (5, 1.5)]]
    progress, training = Progress(), config(best_by=best_by)
    for step, validation in enumerate(validations, start=1):
        assert not out_of_patience(progress, training)
        progress = judged(progress.model_copy(update={"step": step}), validation, training)
        if out_of_patience(progress, training):
            break
    assert (progress.best_step, step) == (best_step, stops_at)
    assert not out_of_patience(progress, config(patience=None))


def test_a_validation_that_is_not_finite_is_never_the_best() -> None:
    training = config(best_by="loss")
    progress = judged(Progress(step=1), result(bleu=0.0, loss=math.nan), training)
    assert (progress.best_score, progress.best_step, progress.validations_since_best) == (None, None, 1)
    assert Progress.model_validate_json(progress.model_dump_json()) == progress
    assert "validation_loss_nats" not in progress.scores
    progress = judged(progress.model_copy(update={"step": 2}), result(bleu=0.0, loss=9.0), training)
    assert (progress.best_score, progress.best_step) == (-9.0, 2)


def test_a_run_out_of_patience_stops_saves_and_stays_stopped(toy: Any, tmp_path: Path) -> None:  # noqa: ANN401
    frozen = ["training.schedule=constant", "training.peak_learning_rate=1e-30", "training.patience=2"]
    settings = [*frozen, "training.validate_every_steps=3", "training.max_steps=50"]
    for _ in range(2):
        assert toy.train(tmp_path / "run", *settings).step == 9  # best at 3, then two no better
    assert "complete at step 9; give a larger --set training.patience to go on" in toy.log(tmp_path / "run")[-1]
    assert (tmp_path / "run" / "last").resolve().name == "step-00000009"
    assert (tmp_path / "run" / "best").resolve().name == "step-00000003"
    assert toy.train(tmp_path / "run", *settings, "training.patience=3").step == 12
