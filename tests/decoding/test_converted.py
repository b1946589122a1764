"""Conversions are made once, checked at every use, and never trusted when they answer otherwise."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nmt_cli.decoding.conversion_check import agreement, probes, refuse_unequal
from nmt_cli.decoding.converted import MANIFEST, converted_model
from nmt_cli.decoding.ctranslate_conversion import convert_to_ctranslate2
from nmt_cli.decoding.engine import TorchEngine
from nmt_cli.decoding.engine_choice import choose_engine
from nmt_cli.decoding.translator import Translator
from nmt_cli.errors import ModelError, UsageError
from nmt_cli.model_folder import ModelFolder, open_model_folder, subword_files, write_model_folder

LENGTH = {"length_penalty": "length", "alpha": 1.0}


def variant(folder: Path, target: Path, *, noise: float = 0.0, **changes: object) -> ModelFolder:
    """Write the model of a folder anew, its output weights disturbed or its description changed."""
    opened = open_model_folder(folder)
    weights = opened.weights()
    weights["output.weight"] = weights["output.weight"] + noise * weights["output.weight"][::-1]
    target.mkdir()
    description = opened.description.model_copy(update=changes)
    write_model_folder(target, weights=weights, description=description, subwords=subword_files(opened))
    return open_model_folder(target)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of its own."""
    monkeypatch.setenv("NMT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def files_of(cache: Path) -> dict[str, int]:
    """Return the files below a folder with what tells one writing from another."""
    return {str(path): path.stat().st_ino for path in cache.rglob("*") if path.is_file()}


def test_a_conversion_is_made_once_and_found_again(model_folder: Path, cache: Path) -> None:
    folder = open_model_folder(model_folder)
    with converted_model(folder, quantization=None, verified=True) as first:
        assert (first / "model.bin").is_file()
    made = files_of(cache)
    assert len(made) >= 4
    with converted_model(folder, quantization=None, verified=True) as second:
        assert second.is_relative_to(cache)
    assert files_of(cache) == made
    with converted_model(folder, quantization="int8", verified=False):
        assert len(files_of(cache)) == 2 * len(made)


def test_a_damaged_one_is_made_anew(model_folder: Path, cache: Path) -> None:
    folder = open_model_folder(model_folder)
    with converted_model(folder, quantization=None, verified=False):
        pass
    [binary] = cache.rglob("model.bin")
    whole = binary.read_bytes()
    binary.write_bytes(whole[:-5] + b"other")
    with converted_model(folder, quantization=None, verified=False) as converted:
        assert (converted / "model.bin").read_bytes() == whole
    assert binary.read_bytes() == whole


@pytest.mark.parametrize("is_half", [True, False])
def test_where_nothing_can_be_cached_it_lasts_for_the_block(
    model_folder: Path, cache: Path, monkeypatch: pytest.MonkeyPatch, is_half: bool
) -> None:
    if is_half:
        monkeypatch.setenv("NMT_CACHE", "/proc/none")
    else:
        cache.write_bytes(b"a file where the folder should be")
    with converted_model(open_model_folder(model_folder), quantization=None, verified=False) as converted:
        assert (converted / "model.bin").is_file()
    assert not converted.exists()


def test_the_manifest_names_every_file(model_folder: Path, cache: Path) -> None:
    with converted_model(open_model_folder(model_folder), quantization=None, verified=False):
        pass
    [manifest] = cache.rglob(MANIFEST)
    said = manifest.read_text(encoding="utf-8")
    assert all(f'"{path.name}"' in said for path in manifest.parent.iterdir() if path != manifest)


def test_a_conversion_of_other_weights_does_not_pass_for_this_one(model_folder: Path, tmp_path: Path) -> None:
    folder = open_model_folder(model_folder)
    for name, noise, passes in (("same", 0.0, True), ("other", 0.02, False)):
        (tmp_path / f"{name}-converted").mkdir()
        convert_to_ctranslate2(variant(model_folder, tmp_path / name, noise=noise), tmp_path / f"{name}-converted")
        if passes:
            refuse_unequal(folder, tmp_path / f"{name}-converted")
        else:
            with pytest.raises(ModelError, match="answers otherwise than by torch"):
                refuse_unequal(folder, tmp_path / f"{name}-converted")


def test_an_engine_agrees_with_itself_and_not_with_another_model(model_folder: Path, tmp_path: Path) -> None:
    folder = open_model_folder(model_folder)
    one, other = TorchEngine.load(folder), TorchEngine.load(variant(model_folder, tmp_path / "other", noise=0.5))
    search = folder.description.search
    sources = probes(folder.description.source_vocab_size)
    same = agreement(one, one, sources, search)
    assert (same.same, same.total, same.apart) == (len(sources), len(sources), 0.0)
    unlike = agreement(one, other, sources, search)
    assert unlike.same < len(sources) / 2
    assert unlike.apart > 0.1


def test_weights_that_are_not_finite_are_refused_at_conversion(model_folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"output\.weight holds numbers that are not finite"):
        convert_to_ctranslate2(variant(model_folder, tmp_path / "model", noise=float("nan")), tmp_path)


def test_the_fastest_engine_that_can_do_what_is_asked_is_taken(model_folder: Path, tmp_path: Path) -> None:
    wu = open_model_folder(model_folder)
    search = wu.description.search
    by_length = search.model_copy(update=LENGTH)
    assert str(choose_engine([wu], search)) == (
        "torch (float32), since the length penalty is wu (wu-rescored is its nearest)"
    )
    assert str(choose_engine([wu], by_length)) == "ctranslate2 (float32)"
    assert choose_engine([wu], by_length, compute_type="int8").compute_type == "int8"
    assert choose_engine([wu], by_length, engine="torch").name == "torch"
    assert choose_engine([wu], by_length, has_prefixes=True).reason == "outputs are to begin with a prefix"
    assert choose_engine([wu, wu], by_length).reason == "there are several models"
    small = variant(model_folder, tmp_path / "int8", stored_as="int8")
    assert str(choose_engine([small], by_length)) == "ctranslate2 (int8)"


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"engine": "ctranslate2"}, "engine ctranslate2: the length penalty is wu"),
        ({"engine": "marian"}, "'marian' is unknown; there are auto, torch and ctranslate2"),
        ({"compute_type": "int4"}, "'int4' is unknown; there are auto, float32"),
    ],
)
def test_what_no_engine_can_do_is_refused_in_one_line(model_folder: Path, asked: dict[str, Any], said: str) -> None:
    folder = open_model_folder(model_folder)
    with pytest.raises(UsageError, match=said):
        choose_engine([folder], folder.description.search, **asked)


def test_rescoring_is_not_for_torch(model_folder: Path) -> None:
    folder = open_model_folder(model_folder)
    search = folder.description.search.model_copy(update={"length_penalty": "wu-rescored"})
    with pytest.raises(UsageError, match="wu-rescored"):
        choose_engine([folder], search, engine="torch")


def test_both_engines_translate_alike(model_folder: Path, tmp_path: Path, cache: Path) -> None:
    search = open_model_folder(model_folder).description.search.model_copy(update={**LENGTH, "beam_size": 1})
    folder = variant(model_folder, tmp_path / "model", search=search)
    lines = ["the red dog", "", "a cat sees the window", "water " * 40]
    fast, exact = (Translator.load(folder.path, engine=engine) for engine in ("auto", "torch"))
    assert (fast.engine.name, exact.engine.name) == ("ctranslate2", "torch")
    found, expected = fast.translate(lines), exact.translate(lines)
    assert [each.text for each in found] == [each.text for each in expected]
    assert [each.score for each in found] == pytest.approx([each.score for each in expected], abs=1e-4)
    assert found[1].text == ""
    assert cache.is_dir()


def test_a_conversion_that_fails_leaves_the_work_to_torch_and_says_why(
    model_folder: Path, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_folder: ModelFolder, _converted: Path) -> None:
        raise ModelError("no good")

    monkeypatch.setattr("nmt_cli.decoding.conversion_check.refuse_unequal", fails)
    search = open_model_folder(model_folder).description.search.model_copy(update=LENGTH)
    folder = variant(model_folder, tmp_path / "model", search=search)
    assert str(Translator.load(folder.path).engine) == "torch (float32), since no good"
    with pytest.raises(ModelError, match="no good"):
        Translator.load(folder.path, engine="ctranslate2")
    assert not cache.exists()
