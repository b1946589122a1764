"""Several corpora as one: what they hold, what they are called, and which do not go together."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nmt_cli.batches.corpus import PiecesFolder
from nmt_cli.batches.training_data import JoinedSide, check_weights, encode_with, open_training_data
from nmt_cli.config import TrainingConfig
from nmt_cli.errors import DataError, NmtError, UsageError
from nmt_cli.files import sha256_of_file, sha256_of_json, write_json

MakeFolder = Callable[..., Path]


@pytest.fixture
def make_folder(pieces_folder: Path, tmp_path: Path) -> MakeFolder:
    """Return a function that makes another folder of the same three pairs, with fields of its manifest changed."""

    def make(name: str, *, model: bytes = b"pieces", **changes: Any) -> Path:  # noqa: ANN401
        folder = tmp_path / name / "pieces"
        shutil.copytree(pieces_folder, folder)
        (folder / "subwords.model").write_bytes(model)
        values = json.loads((folder / "manifest.json").read_bytes()) | changes | {"name": name}
        del values["digest"]
        values["files"] = {path: sha256_of_file(folder / path) for path in sorted(values["files"])}
        write_json(folder / "manifest.json", values | {"digest": sha256_of_json(values)})
        return folder.parent

    return make


def refusal(error: type[NmtError], *paths: Path) -> str:
    with pytest.raises(error) as caught:
        open_training_data(paths)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def config(**changes: Any) -> TrainingConfig:  # noqa: ANN401
    values = {"max_steps": 1, "tokens_per_update": 9, "warmup_steps": 1, "save_every_steps": 1}
    return TrainingConfig.model_validate(values | {"validate_every_steps": 1} | changes)


def test_pairs_of_all_corpora_stand_one_after_the_other_and_stay_on_disk(
    pieces_folder: Path, make_folder: MakeFolder
) -> None:
    train = open_training_data([make_folder("a"), pieces_folder, make_folder("b")]).train_split()
    assert (len(train), train.sizes) == (9, (3, 3, 3))
    sources, targets = [[5, 1], [6, 7, 1], [1]] * 3, [[9, 9, 1], [8, 1], [1]] * 3
    assert [train.source.sentence(i).tolist() for i in range(9)] == sources
    assert [train.target.sentence(i).tolist() for i in range(9)] == targets
    assert train.source.lengths.tolist() == [len(ids) for ids in sources]
    assert train.target.lengths.tolist() == [len(ids) for ids in targets]
    assert isinstance(train.source, JoinedSide)
    assert all(isinstance(part.ids, np.memmap) for part in train.source.parts)


def test_one_corpus_is_what_it_was(pieces_folder: Path) -> None:
    data = open_training_data(pieces_folder)
    assert data.digest == json.loads((pieces_folder / "manifest.json").read_bytes())["digest"]
    assert isinstance(data.train_split().source.sentence(0).base, np.memmap)
    assert data.train_split().sizes is None
    assert (data.paths, data.name) == ([pieces_folder], str(pieces_folder))


def test_the_digest_is_of_all_corpora_and_of_their_order(make_folder: MakeFolder) -> None:
    a, b, c = (make_folder(name) for name in "abc")
    digests = [open_training_data(paths).digest for paths in ([a], [b], [a, b], [b, a], [a, c], [a, b, c])]
    assert len(set(digests)) == 6
    assert open_training_data([a, b]).digest == digests[2]


def test_validation_is_the_first_named_that_has_one(make_folder: MakeFolder) -> None:
    without, first, second = make_folder("0"), *(make_folder(n, sentences={"train": 3, "valid": 1}) for n in "12")
    assert open_training_data([without]).validation is None
    found = open_training_data([without, second, first]).validation
    assert isinstance(found, PiecesFolder)
    assert found.path == second / "pieces"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"target_language": "fr"}, "their languages differ (en-de, en-fr); name corpora of one direction"),
        (
            {"text": {"moses": True}},
            "their text steps differ (nfc fold_spaces lowercase, nfc fold_spaces moses); prepare",
        ),
        ({"model": b"others"}, "their subwords differ ("),
        ({"model": b"others"}, "encode it with those: nmt bpe {other} --model {first} --force"),
    ],
)
def test_corpora_that_differ_are_refused_with_both_names_and_the_way_out(
    make_folder: MakeFolder, changes: dict[str, Any], said: str
) -> None:
    first, same, other = make_folder("a"), make_folder("b"), make_folder("c", **changes)
    message = refusal(DataError, first, same, other)
    assert f"{first / 'pieces'} and {other / 'pieces'} cannot be trained on together" in message
    assert said.format(first=first / "pieces", other=other) in message


def test_no_corpus_and_one_named_twice_are_refused(make_folder: MakeFolder, pieces_folder: Path) -> None:
    assert "no corpus is named" in refusal(UsageError)
    other = make_folder("a")
    message = refusal(UsageError, pieces_folder, other, pieces_folder.parent)
    assert f"{pieces_folder} is named twice" in message


@pytest.mark.parametrize(("weights", "n_corpora"), [([3.0, 1.0], 1), ([3.0], 2), ([1.0, 1.0, 1.0], 2)])
def test_another_number_of_weights_than_corpora_is_refused_with_both(
    make_folder: MakeFolder, weights: list[float], n_corpora: int
) -> None:
    data = open_training_data([make_folder(str(i)) for i in range(n_corpora)])
    with pytest.raises(UsageError, match=f"has {len(weights)} numbers, but there are {n_corpora} corpora"):
        check_weights(data, config(corpus_weights=weights))
    check_weights(data, config())
    check_weights(data, config(corpus_weights=[2.5] * n_corpora))


def test_a_weight_for_pairs_that_are_all_too_long_is_refused_with_the_folder(
    make_folder: MakeFolder, pieces_folder: Path
) -> None:
    np.save(pieces_folder / "train.source.offsets.npy", np.array([0, 2, 4, 6]))  # the empty source now has 2 tokens
    long = make_folder("long")
    data = open_training_data([long])
    check_weights(data, config(max_length=1))
    with pytest.raises(DataError, match="no training pair has at most 1 tokens a side, the shortest 2") as caught:
        check_weights(data, config(corpus_weights=[2.0], max_length=1))
    assert str(caught.value).startswith(f"{long / 'pieces'}: ")


def test_pieces_in_a_place_of_their_own_are_encoded_anew_from_the_data_folder() -> None:
    there = encode_with(Path("model"), Path("elsewhere"))
    assert there == "encode it with those, from its DATA folder: nmt bpe DATA --model model --out elsewhere --force"


@pytest.mark.parametrize("weights", [[1e-300, 1.0], [1e300, 1e-300], [5e-324, 1.0], [1.0, 1e9]])
def test_weights_that_would_repeat_a_corpus_without_end_are_refused(
    make_folder: MakeFolder, weights: list[float]
) -> None:
    data = open_training_data([make_folder(name) for name in "ab"])
    with pytest.raises(UsageError, match=r"make an epoch of \S+ pairs, from 6 in all; .* at most 100,000,000 pairs"):
        check_weights(data, config(corpus_weights=weights))
    check_weights(data, config(corpus_weights=[1.0, 1e6]))  # three pairs, and three million
