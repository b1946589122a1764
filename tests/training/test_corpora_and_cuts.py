"""Runs on several corpora and with subwords cut anew: what they train on, and that they go on to the same bits."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nmt_cli.batches.corpus import EncodedCorpus, open_pieces
from nmt_cli.config import SubwordConfig
from nmt_cli.corpora.data_folder import open_data_folder
from nmt_cli.errors import ModelError, UsageError
from nmt_cli.settings_files import resolve
from nmt_cli.subwords.encoding import encode_corpus
from nmt_cli.subwords.segmenter import Segmenter
from nmt_cli.training.start import run_training
from nmt_cli.training.state import Progress
from nmt_cli.training.trained import Trained

WEIGHTS = Path("last", "weights.safetensors")
N_FIRST, N_SECOND = 300, 60
CUTS = "training.bpe_dropout=0.3"
IN_PROPORTION = "training.corpus_weights=[3, 1]"
PROGRAM = Path(sys.executable).parent / "nmt"
Used = dict[int, tuple[list[int], list[list[int]]]]


class PowerCutError(Exception):
    """Stands for whatever ends a process."""


@pytest.fixture
def second(make_corpus: Callable[..., Path], toy: Any) -> Path:  # noqa: ANN401
    """A corpus without validation, encoded with the subwords of the toy."""
    folder = make_corpus("second", train=toy.sentences(N_SECOND, seed=9))
    encode_corpus(open_data_folder(folder), folder / "pieces", None, model=toy.corpus, force=True)
    return folder


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Callable[[int | None], Used]:
    """Return a function that has training end when it comes to a step, and gives what each step used so far.

    Of a step: the pairs, and the ids of both sides in the order in which they go through the model.
    """
    real = Trained.corpus_of_update
    used: Used = {}
    at: list[int | None] = [None]

    def watch(trained: Trained, pairs: Any, step: int) -> tuple[EncodedCorpus, Any]:  # noqa: ANN401
        if step == at[0]:
            raise PowerCutError
        corpus, places = real(trained, pairs, step)
        ids = [side.sentence(int(i)).tolist() for i in places for side in (corpus.source, corpus.target)]
        used[step] = pairs.tolist(), ids
        return corpus, places

    monkeypatch.setattr(Trained, "corpus_of_update", watch)

    def before(step: int | None) -> Used:
        at[0] = step
        used.clear()
        return used

    return before


@pytest.mark.parametrize(
    "assignments",
    [
        [IN_PROPORTION, CUTS],
        pytest.param([IN_PROPORTION], marks=pytest.mark.slow),
        pytest.param([CUTS], marks=pytest.mark.slow),
    ],
)
def test_a_run_cut_off_and_continued_ends_with_the_same_bits(
    toy: Any,  # noqa: ANN401
    tmp_path: Path,
    second: Path,
    watched: Callable[[int | None], Used],
    assignments: list[str],
) -> None:
    data = [toy.corpus, second] if IN_PROPORTION in assignments else [toy.corpus]

    def train(run: Path) -> Progress:
        return run_training(data, run, toy.settings(*assignments), quiet=True)

    used = watched(None)
    train(tmp_path / "whole")
    expected, found = dict(used), {}
    for stop in [4, 13, 13, 22, None]:
        used = watched(stop)
        try:
            train(tmp_path / "run")
        except PowerCutError:
            assert stop is not None
        found |= used
    # Updates may be made ready that are never taken.
    assert [found.get(step) for step in range(1, 25)] == [expected[step] for step in range(1, 25)]
    assert (tmp_path / "run" / WEIGHTS).read_bytes() == (tmp_path / "whole" / WEIGHTS).read_bytes()


def test_an_epoch_holds_the_corpora_in_proportion_and_the_one_repeated_least_once(
    toy: Any,  # noqa: ANN401
    tmp_path: Path,
    second: Path,
    watched: Callable[[int | None], Used],
) -> None:
    used = watched(None)
    run_training(
        [toy.corpus, second], tmp_path / "run", toy.settings(IN_PROPORTION, "training.max_steps=20"), quiet=True
    )
    epochs = [record["epoch"] for record in toy.metrics(tmp_path / "run", "training")]
    n_updates = epochs.index(1) + 1  # the last update of an epoch leads into the next
    counts = Counter(pair for step in range(1, n_updates + 1) for pair in used[step][0])
    assert [counts[pair] for pair in range(N_FIRST)] == [1] * N_FIRST
    # A third of 300: each of the 60 once, 40 of them twice.
    assert sorted(counts[pair] for pair in range(N_FIRST, N_FIRST + N_SECOND)) == [1] * 20 + [2] * 40
    train = [open_pieces(path).split("train") for path in (toy.corpus, second)]
    for pairs, ids in used.values():
        stored = [(train[0], pair) if pair < N_FIRST else (train[1], pair - N_FIRST) for pair in pairs]
        sides = [side.sentence(pair).tolist() for corpus, pair in stored for side in (corpus.source, corpus.target)]
        assert ids == sides


def test_each_time_a_pair_comes_it_is_cut_anew_and_says_the_same_and_validation_is_as_stored(
    toy: Any,  # noqa: ANN401
    tmp_path: Path,
    watched: Callable[[int | None], Used],
) -> None:
    used = watched(None)
    toy.train(tmp_path / "run", CUTS)
    pieces = open_pieces(toy.corpus)
    train, segmenter = pieces.split("train"), Segmenter.load(pieces.subwords_of("source"))
    n_other = n_all = 0
    for pairs, ids in used.values():
        stored = [side.sentence(pair).tolist() for pair in pairs for side in (train.source, train.target)]
        assert sorted(segmenter.decode(cut) for cut in ids) == sorted(segmenter.decode(cut) for cut in stored)
        n_all += len(ids)
        n_other += len(Counter(map(tuple, ids)) - Counter(map(tuple, stored)))
    assert n_other > 0.5 * n_all
    tokens = int(pieces.split("valid").target.lengths.sum())
    assert [record["validation_tokens"] for record in toy.metrics(tmp_path / "run", "validation")] == [tokens] * 2


def test_a_run_does_not_go_on_with_other_corpora_weights_or_dropout(toy: Any, tmp_path: Path, second: Path) -> None:  # noqa: ANN401
    run, settings = tmp_path / "run", toy.settings(IN_PROPORTION, CUTS, "training.max_steps=1")
    run_training([toy.corpus, second], run, settings, quiet=True)
    with pytest.raises(ModelError, match=rf"trained on data .*, but {second}/pieces \+ {toy.corpus}/pieces is"):
        run_training([second, toy.corpus], run, settings, quiet=True)
    with pytest.raises(UsageError) as caught:
        run_training([toy.corpus, second], run, toy.settings("training.corpus_weights=[2, 1]"), quiet=True)
    assert "training.corpus_weights was [3.0, 1.0], now [2.0, 1.0]" in str(caught.value)
    assert "training.bpe_dropout was 0.3, now 0.0" in str(caught.value)


def test_the_merges_of_a_unigram_model_cannot_be_left_out(toy: Any, tmp_path: Path, make_corpus: Any) -> None:  # noqa: ANN401
    folder = make_corpus("unigram", train=toy.sentences(50, seed=3))
    config = SubwordConfig(vocab_size=300, algorithm="unigram")
    encode_corpus(open_data_folder(folder), folder / "pieces", config, force=True)
    with pytest.raises(
        UsageError, match=r"training.bpe_dropout is 0.3, but .*subwords.model is no BPE model"
    ) as caught:
        run_training(folder, tmp_path / "run", toy.settings(CUTS), quiet=True)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "run").exists()


def nmt(*arguments: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([PROGRAM, *arguments], cwd=cwd, capture_output=True, text=True, check=False, encoding="utf-8")


def test_the_command_takes_two_corpora_and_their_weights_and_names_the_run_after_both(
    toy: Any,  # noqa: ANN401
    tmp_path: Path,
    second: Path,
) -> None:
    common = ("--config", toy.config, "--max-steps", "1", "--ranks", "1")
    done = nmt("train", toy.corpus, second, "--weights", "3,1", *common, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "")
    run = tmp_path / "runs" / "toy+second-toy"
    assert resolve(preset=None, config=run / "config.toml").training.corpus_weights == [3.0, 1.0]


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        ("3,x", "--weights '3,x': give a positive number a corpus, as in 3,1"),
        ("3,1", "training.corpus_weights has 2 numbers, but there are 1 corpora"),
        ("0", "training.corpus_weights.0 should be greater than 0, but is 0.0"),
    ],
)
def test_weights_that_cannot_be_followed_are_one_line_and_code_2(
    toy: Any,  # noqa: ANN401
    tmp_path: Path,
    weights: str,
    said: str,
) -> None:
    done = nmt("train", toy.corpus, "--config", toy.config, "--weights", weights, cwd=tmp_path)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert said in done.stderr
    assert not (tmp_path / "runs").exists()


@pytest.mark.slow
def test_two_ranks_train_on_the_same_cuts_as_one(toy: Any, tmp_path: Path, second: Path) -> None:  # noqa: ANN401
    same = ["model.dropout=0", "model.attention_dropout=0", IN_PROPORTION, CUTS, "training.max_steps=8"]
    losses = []
    for n_ranks in (1, 2):
        run = tmp_path / str(n_ranks)
        run_training([toy.corpus, second], run, toy.settings(*same, f"machine.ranks={n_ranks}"), quiet=True)
        losses.append([record["loss_nats"] for record in toy.metrics(run, "training")])
    np.testing.assert_allclose(losses[1], losses[0], rtol=1e-5)
