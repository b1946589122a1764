"""A folder for plain CTranslate2 does what its card says, and one that is damaged is never left behind."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from nmt_cli.config import SearchConfig
from nmt_cli.decoding import export_ctranslate2 as module
from nmt_cli.decoding.ctranslate_conversion import convert_to_ctranslate2
from nmt_cli.decoding.export_ctranslate2 import export_ctranslate2, refuse_other_answers, search_for_check
from nmt_cli.decoding.exporting import MANIFEST, OWN_LINES, lines_to_check, sources_to_check
from nmt_cli.decoding.translator import Translator
from nmt_cli.errors import DataError, ModelError, UsageError
from nmt_cli.files import sha256_of_file
from nmt_cli.model_folder import ModelFolder, open_model_folder, subword_files, write_model_folder

LINES = ["the red dog", "a cat sees the old river", "", "ł 漢 🙂", "water under the bridge in the morning", "x"]


def variant(folder: Path, target: Path, *, noise: float = 0.0, **changes: object) -> ModelFolder:
    """Write the model of a folder anew, all matrices disturbed or its description changed."""
    opened = open_model_folder(folder)
    rng = np.random.default_rng(3)
    weights = {
        name: array + (noise * array.std() * rng.normal(size=array.shape)).astype(np.float32) if noise else array
        for name, array in opened.weights().items()
    }
    target.mkdir()
    description = opened.description.model_copy(update=changes)
    write_model_folder(target, weights=weights, description=description, subwords=subword_files(opened))
    return open_model_folder(target)


@pytest.fixture
def by_length(model_folder: Path, tmp_path: Path) -> ModelFolder:
    """A model whose search CTranslate2 knows."""
    search = SearchConfig(beam_size=1, length_penalty="length", alpha=0.8, max_extra=12)
    return variant(model_folder, tmp_path / "model", search=search)


@pytest.mark.parametrize("names", [["subwords.model"], ["source.model", "target.model"]], ids=len)
def test_the_program_on_the_card_gives_our_translation(
    by_length: ModelFolder, tmp_path: Path, names: list[str]
) -> None:
    out, model = tmp_path / "out", tmp_path / "same"
    model.mkdir()
    subwords = dict.fromkeys(names, by_length.source_subwords)
    write_model_folder(model, weights=by_length.weights(), description=by_length.description, subwords=subwords)
    found = export_ctranslate2(open_model_folder(model), out, form="float32", lines=LINES)
    assert all((out / name).is_file() for name in names)
    assert (found.checked, found.same, found.same_by_beam) == (5, 5, 5)
    assert found.apart < 1e-3
    card = (out / "README.md").read_text(encoding="utf-8")
    [program] = re.findall(r"```python\n(.*?)```", card, flags=re.DOTALL)
    run = subprocess.run(
        [sys.executable, "-c", program.replace("FOLDER", str(out))], capture_output=True, check=True, encoding="utf-8"
    )
    expected = Translator.load(by_length.path, engine="torch").translate(["How are you?"])[0].text
    assert run.stdout == f"{expected}\n"
    assert expected


def test_the_manifest_names_every_file_and_all_that_a_reader_needs(by_length: ModelFolder, tmp_path: Path) -> None:
    out = tmp_path / "out"
    export_ctranslate2(by_length, out, form="int8", lines=LINES)
    names = {path.name for path in out.iterdir()}
    assert names == {"model.bin", "config.json", "shared_vocabulary.json", "subwords.model", "README.md", MANIFEST}
    manifest = json.loads((out / MANIFEST).read_text(encoding="utf-8"))
    assert manifest["files"] == {name: sha256_of_file(out / name) for name in names - {MANIFEST}}
    assert (manifest["kind"], manifest["form"]) == ("ctranslate2 export", "int8")
    assert manifest["search"]["alpha"] == 0.8
    assert manifest["text"]["nfc"] is True
    assert manifest["weights"] == dict(by_length.digests)


@pytest.mark.parametrize("form", ["int8", "int8_float32", "float16", "bfloat16"])
def test_fewer_bits_make_a_smaller_file_that_is_near_enough(by_length: ModelFolder, tmp_path: Path, form: str) -> None:
    export_ctranslate2(by_length, tmp_path / "exact", form="float32", lines=LINES)
    found = export_ctranslate2(by_length, tmp_path / "small", form=form, lines=LINES)
    sizes = [(tmp_path / name / "model.bin").stat().st_size for name in ("small", "exact")]
    assert sizes[0] < sizes[1]
    assert 0 < found.apart_per_piece <= 0.05


@pytest.mark.parametrize("form", ["float32", "int8"])
def test_weights_damaged_between_reading_and_writing_are_refused_and_nothing_is_left(
    model_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    damaged = variant(model_folder, tmp_path / "damaged", noise=0.5 if form == "int8" else 0.001)

    def convert(folder: ModelFolder, target: Path, *, quantization: str | None = None) -> None:
        spoilt = quantization == (None if form == "float32" else form)
        convert_to_ctranslate2(damaged if spoilt else folder, target, quantization=quantization)

    monkeypatch.setattr(module, "convert_to_ctranslate2", convert)
    with pytest.raises(ModelError, match=r"it answers otherwise: .* nats apart, at most") as error:
        export_ctranslate2(open_model_folder(model_folder), tmp_path / "out", form=form, lines=LINES)
    assert "\n" not in str(error.value)
    assert [path.name for path in tmp_path.iterdir()] == ["damaged"]


@pytest.mark.parametrize(
    "name",
    [
        "encoder_layers.0.feed_forward.inner.weight",
        "decoder_layers.1.cross_attention.key_value.weight",
        "decoder_layers.0.self_attention.query_key_value.weight",
    ],
)
def test_a_folder_that_was_tampered_with_does_not_pass(model_folder: Path, tmp_path: Path, name: str) -> None:
    folder = open_model_folder(model_folder)
    convert_to_ctranslate2(folder, tmp_path)
    sources = sources_to_check(folder, OWN_LINES, longest=100)
    assert refuse_other_answers(folder, tmp_path, sources, form="float32").same == len(OWN_LINES)
    whole = (tmp_path / "model.bin").read_bytes()
    matrix = folder.weights()[name]
    noise = np.random.default_rng(4).normal(0, 0.01 * matrix.std(), matrix.shape).astype(np.float32)
    assert whole.count(matrix.tobytes()) == 1
    (tmp_path / "model.bin").write_bytes(whole.replace(matrix.tobytes(), (matrix + noise).tobytes()))
    with pytest.raises(ModelError, match="answers otherwise"):
        refuse_other_answers(folder, tmp_path, sources, form="float32")
    (tmp_path / "model.bin").write_bytes(whole[:-1000])
    with pytest.raises(ModelError, match="CTranslate2 cannot load it"):
        refuse_other_answers(folder, tmp_path, sources, form="float32")


def test_what_ctranslate2_does_not_have_is_refused(model_folder: Path, tmp_path: Path) -> None:
    folder = variant(model_folder, tmp_path / "model")
    narrow = folder.description.model.model_copy(update={"target_space": True})
    spaced = variant(model_folder, tmp_path / "spaced", model=narrow)
    with pytest.raises(UsageError, match="the model has a target space"):
        export_ctranslate2(spaced, tmp_path / "out", form="float32", lines=LINES)
    with pytest.raises(UsageError, match="'int4' of weights is unknown; there are float32"):
        export_ctranslate2(folder, tmp_path / "out", form="int4", lines=LINES)
    assert not (tmp_path / "out").exists()


def test_only_a_folder_of_the_kind_is_replaced_and_only_by_force(model_folder: Path, tmp_path: Path) -> None:
    folder = open_model_folder(model_folder)
    export_ctranslate2(folder, tmp_path / "out", form="float32", lines=LINES)
    with pytest.raises(UsageError, match="give --force"):
        export_ctranslate2(folder, tmp_path / "out", form="float32", lines=LINES)
    export_ctranslate2(folder, tmp_path / "out", form="int8", lines=LINES, force=True)
    copy = variant(model_folder, tmp_path / "other")
    with pytest.raises(UsageError, match="no complete ctranslate2 export folder"):
        export_ctranslate2(folder, copy.path, form="float32", lines=LINES, force=True)


def test_what_is_checked_is_the_beginning_of_the_file_without_blank_and_long_lines(
    model_folder: Path, tmp_path: Path
) -> None:
    folder = open_model_folder(model_folder)
    path = tmp_path / "text"
    path.write_text("\n \nthe dog\n" + "long " * 60 + "\n" + "x\n" * 2000, encoding="utf-8")
    lines = lines_to_check(path)
    assert len(lines) == 1000
    assert lines[2] == "the dog"
    assert len(sources_to_check(folder, lines, longest=60)) == 997
    with pytest.raises(DataError, match="all of 2 are blank or have 60 pieces and more"):
        sources_to_check(folder, ["", "long " * 60], longest=60)


def test_the_search_of_the_check_is_the_models_own_as_far_as_it_is_known() -> None:
    wu = SearchConfig(beam_size=6, alpha=0.3, length_penalty="wu", n_best=3, min_length=2, max_extra=9)
    found = search_for_check(wu)
    assert (found.length_penalty, found.alpha, found.beam_size, found.n_best) == ("length", 0.3, 6, 1)
    assert (found.min_length, found.max_extra) == (2, 9)
    assert search_for_check(SearchConfig(length_penalty="none")).length_penalty == "none"
