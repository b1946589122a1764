"""The model folder: what is written is what is read, and nothing damaged or foreign gets through."""

from __future__ import annotations

import json
import pickle
import shutil
from pathlib import Path

import numpy as np
import pytest

from nmt_cli.config import ModelConfig, SearchConfig, TextConfig
from nmt_cli.errors import ModelError
from nmt_cli.files import new_directory, sha256_of_file, sha256_of_json, write_json
from nmt_cli.model_folder import (
    KIND,
    MANIFEST,
    ModelDescription,
    open_model_folder,
    read_tensors,
    subword_files,
    write_model_folder,
    write_tensors,
)

WEIGHTS = {
    "encoder.0.weight": np.arange(12, dtype=np.float32).reshape(3, 4).T,
    "half": np.array([0.5, -2.0], dtype=np.float16),
    "nothing": np.zeros((0, 3), dtype=np.float32),
}
DESCRIPTION = ModelDescription(
    source_language="en",
    target_language="de",
    source_vocab_size=300,
    target_vocab_size=310,
    model=ModelConfig.model_validate(
        {"n_encoder_layers": 1, "n_decoder_layers": 1, "d_model": 8, "d_ff": 16, "n_heads": 2, "dropout": 0.1}
    ),
    search=SearchConfig(beam_size=5, alpha=1.0),
    text=TextConfig(lowercase=True, moses=True),
    step=1500,
    scores={"bleu": 41.25, "signature": "nrefs:1|case:mixed"},
    licence="CC-BY-4.0",
    provenance={"data": {"train.en": "ab" * 32}, "parents": ["step-00001500"]},
)


def make_model(folder: Path, *, subwords: tuple[str, ...] = ("subwords.model",)) -> Path:
    sources = {}
    for name in subwords:
        sources[name] = folder.parent / f"learned.{name}"
        sources[name].write_bytes(f"pieces of {name}".encode())
    with new_directory(folder, manifest=MANIFEST, kind=KIND) as scratch:
        write_model_folder(scratch, weights=WEIGHTS, description=DESCRIPTION, subwords=sources)
    return folder


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return make_model(tmp_path / "model")


def refusal(folder: Path) -> str:
    with pytest.raises(ModelError) as caught:
        open_model_folder(folder)
    assert "\n" not in str(caught.value)
    assert str(folder) in str(caught.value)
    return str(caught.value)


def edit(folder: Path, *, sign: bool, **changes: object) -> None:
    """Change fields of model.json; with `sign`, make its own digest right again."""
    values = json.loads((folder / MANIFEST).read_bytes()) | changes
    if sign:
        del values["digest"]
        values["digest"] = sha256_of_json(values)
    write_json(folder / MANIFEST, values)


def test_what_is_written_is_what_is_read(model: Path) -> None:
    opened = open_model_folder(model)
    assert opened.description == DESCRIPTION
    assert opened.path == model
    weights = opened.weights()
    assert weights.keys() == WEIGHTS.keys()
    for name, array in WEIGHTS.items():
        assert weights[name].dtype == array.dtype
        np.testing.assert_array_equal(weights[name], array)


def test_the_folder_holds_weights_subwords_and_a_manifest_that_names_their_digests(model: Path) -> None:
    assert sorted(path.name for path in model.iterdir()) == ["model.json", "subwords.model", "weights.safetensors"]
    digests = json.loads((model / MANIFEST).read_bytes())["files"]
    assert digests == {name: sha256_of_file(model / name) for name in ["weights.safetensors", "subwords.model"]}


def test_a_model_with_one_subword_file_uses_it_for_both_sides(model: Path) -> None:
    opened = open_model_folder(model)
    assert opened.shares_subwords
    assert opened.source_subwords == opened.target_subwords == model / "subwords.model"
    assert subword_files(opened) == {"subwords.model": model / "subwords.model"}


def test_a_model_with_two_subword_files_uses_each_for_its_side(tmp_path: Path) -> None:
    opened = open_model_folder(make_model(tmp_path / "two", subwords=("source.model", "target.model")))
    assert not opened.shares_subwords
    assert opened.source_subwords.read_bytes() == b"pieces of source.model"
    assert opened.target_subwords.read_bytes() == b"pieces of target.model"
    assert subword_files(opened).keys() == {"source.model", "target.model"}


def test_a_model_may_be_moved(model: Path, tmp_path: Path) -> None:
    moved = tmp_path / "elsewhere"
    model.rename(moved)
    assert open_model_folder(moved).weights().keys() == WEIGHTS.keys()


@pytest.mark.parametrize("name", ["weights.safetensors", "subwords.model"])
def test_any_flipped_byte_of_a_file_is_found_and_the_file_named(model: Path, name: str) -> None:
    whole = (model / name).read_bytes()
    for position in range(len(whole)):
        broken = bytearray(whole)
        broken[position] ^= 0x01
        (model / name).write_bytes(broken)
        said = refusal(model)
        assert str(model / name) in said
        assert "damaged or edited" in said


def test_any_flipped_byte_of_the_manifest_is_found(model: Path) -> None:
    whole = (model / MANIFEST).read_bytes()
    values = json.loads(whole)
    for position in range(len(whole)):
        broken = bytearray(whole)
        broken[position] ^= 0x01
        try:
            if json.loads(broken) == values:
                continue  # white space between the tokens says nothing
        except ValueError:
            pass
        (model / MANIFEST).write_bytes(broken)
        refusal(model)


@pytest.mark.parametrize("size", [0, 7, 8, 100, -1])
def test_a_file_that_was_cut_off_is_found(model: Path, size: int) -> None:
    whole = (model / "weights.safetensors").read_bytes()
    (model / "weights.safetensors").write_bytes(whole[:size])
    assert "damaged or edited" in refusal(model)


@pytest.mark.parametrize("name", ["weights.safetensors", "subwords.model"])
def test_a_missing_file_is_named(model: Path, name: str) -> None:
    (model / name).unlink()
    assert f"{model / name}: missing" in refusal(model)


@pytest.mark.parametrize("changes", [{"step": 1501}, {"licence": None}, {"search": {"beam_size": 1}}])
def test_an_edited_manifest_is_found(model: Path, changes: dict[str, object]) -> None:
    edit(model, sign=False, **changes)
    assert "damaged or edited" in refusal(model)


def test_subwords_of_another_model_are_found_by_their_digest(model: Path) -> None:
    (model / "subwords.model").write_bytes(b"pieces of some other")
    assert "sha256" in refusal(model)


def test_a_newer_format_is_said_with_both_numbers(model: Path) -> None:
    edit(model, sign=True, format=2)
    assert "format 2, but this nmt reads format 1" in refusal(model)


@pytest.mark.parametrize(
    "names", [["weights.safetensors"], ["subwords.model"], ["weights.safetensors", "subwords.model", "../learned"], []]
)
def test_a_manifest_that_names_other_files_than_a_models_is_refused(model: Path, names: list[str]) -> None:
    (model.parent / "learned").write_bytes(b"outside")
    edit(model, sign=True, files={name: sha256_of_file(model / name) for name in names})
    assert "a model has others" in refusal(model)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"beam": 3}, "unknown field 'beam'"),
        ({"step": -1}, "step should be greater than or equal to 0, but is -1"),
        ({"source_vocab_size": "300"}, "source_vocab_size should be a valid integer, but is '300'"),
    ],
)
def test_a_signed_manifest_with_wrong_fields_is_refused_by_field(
    model: Path, changes: dict[str, object], said: str
) -> None:
    edit(model, sign=True, **changes)
    assert said in refusal(model)


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"kind": "corpus", "files": {}}', '{"kind": "model"}'])
def test_a_manifest_that_describes_no_model_is_refused(model: Path, text: str) -> None:
    (model / MANIFEST).write_text(text, encoding="utf-8")
    refusal(model)


def test_a_missing_folder_a_file_and_a_bare_folder_are_told_apart(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "bare").mkdir()
    assert "no such folder" in refusal(tmp_path / "none")
    assert "a file; a model folder is expected" in refusal(tmp_path / "file")
    assert "model.json is missing" in refusal(tmp_path / "bare")


def test_a_run_in_place_of_a_model_is_told_what_to_use(model: Path, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "last").symlink_to(model)
    assert f"this is a run: use {tmp_path / 'run' / 'last'}" in refusal(tmp_path / "run")


@pytest.mark.parametrize(
    ("text", "said"),
    [('{"kind": "pieces"}', "this is a pieces folder"), ("{}", "this is a foreign folder"), ("{", "not valid JSON")],
)
def test_a_folder_of_another_kind_is_called_by_its_kind(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "manifest.json").write_text(text, encoding="utf-8")
    assert said in refusal(tmp_path / "data")


class Trap:
    """Unpickled, it makes a file."""

    marker: Path

    def __reduce__(self) -> tuple[object, ...]:
        """Say what is called on unpickling."""
        return Path.touch, (self.marker,)


def test_a_pickle_in_place_of_weights_is_refused_and_not_run(tmp_path: Path) -> None:
    marker, weights = tmp_path / "marker", tmp_path / "weights.safetensors"
    trap = Trap()
    trap.marker = marker
    weights.write_bytes(pickle.dumps(trap))
    with pytest.raises(ModelError, match="cannot be loaded") as caught:
        read_tensors(weights)
    assert str(weights) in str(caught.value)
    assert not marker.exists()
    pickle.loads(weights.read_bytes())  # the trap does work
    assert marker.exists()


def test_missing_weights_are_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"none\.safetensors: cannot be loaded"):
        read_tensors(tmp_path / "none.safetensors")


def test_a_copy_with_its_links_followed_is_a_model_too(model: Path, tmp_path: Path) -> None:
    (tmp_path / "best").symlink_to(model)
    shutil.copytree(tmp_path / "best", tmp_path / "copy")
    assert open_model_folder(tmp_path / "best").description == open_model_folder(tmp_path / "copy").description


def test_weights_may_be_read_by_those_who_may_read_other_new_files(tmp_path: Path) -> None:
    (tmp_path / "other").touch()
    write_tensors(tmp_path / "weights", {"a": np.zeros(3, dtype=np.float32)})
    assert (tmp_path / "weights").stat().st_mode == (tmp_path / "other").stat().st_mode
