"""The data folder: what `prepare` wrote is read, and nothing else is."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from nmt_cli.config import CleaningConfig, TextConfig
from nmt_cli.corpora.data_folder import DataDescription, DataFolder, SourceFile, open_data_folder, write_manifest
from nmt_cli.errors import DataError
from nmt_cli.files import sha256_of_file, sha256_of_json, write_json, write_lines

DESCRIPTION = DataDescription(
    source_language="en",
    target_language="de",
    text=TextConfig(lowercase=True),
    cleaning=CleaningConfig(max_ratio=4.5),
    counts={"train": 2, "valid": 1},
    sources=[SourceFile(name="a.en.gz", sha256=None, lines=3)],
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "data"
    path.mkdir()
    for split, lines in {"train": ["a", "b"], "valid": ["c"]}.items():
        write_lines(path / f"{split}.en", lines)
        write_lines(path / f"{split}.de", lines)
    write_json(path / "report.json", {})
    write_manifest(path, DESCRIPTION)
    return path


def refusal(path: Path) -> str:
    with pytest.raises(DataError) as caught:
        open_data_folder(path)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def rewritten(folder: Path, change: Callable[[dict[str, object]], None]) -> None:
    """Change the manifest and make its digest right again."""
    values = json.loads((folder / "manifest.json").read_bytes())
    del values["digest"]
    change(values)
    write_json(folder / "manifest.json", values | {"digest": sha256_of_json(values)})


def test_a_folder_is_opened_with_all_that_the_manifest_says(folder: Path) -> None:
    digest = json.loads((folder / "manifest.json").read_bytes())["digest"]
    text = TextConfig(lowercase=True)
    assert open_data_folder(folder) == DataFolder(folder, "en", "de", text, {"train": 2, "valid": 1}, digest)
    assert open_data_folder(folder).file("valid", "de") == folder / "valid.de"


def test_the_manifest_names_the_digest_of_every_sibling(folder: Path) -> None:
    files = json.loads((folder / "manifest.json").read_bytes())["files"]
    assert files == {path.name: sha256_of_file(path) for path in folder.iterdir() if path.name != "manifest.json"}


def test_what_lies_beside_the_files_of_the_manifest_is_nobodys_concern(folder: Path) -> None:
    (folder / "pieces").mkdir()
    (folder / "notes.txt").write_bytes(b"mine")
    assert open_data_folder(folder).counts == {"train": 2, "valid": 1}


def test_a_missing_folder_a_file_and_an_unfinished_folder_are_told_apart(folder: Path) -> None:
    assert "no such folder" in refusal(folder / "no")
    assert "a file" in refusal(folder / "train.en")
    (folder / "manifest.json").unlink()
    assert "manifest.json is missing" in refusal(folder)


def test_a_changed_and_a_missing_file_are_named(folder: Path) -> None:
    (folder / "valid.de").write_bytes(b"C\n")
    assert refusal(folder).startswith(f"{folder}/valid.de: damaged or edited: sha256 is ")
    (folder / "valid.de").unlink()
    assert refusal(folder) == f"{folder}/valid.de: missing from its folder"


def test_an_edited_manifest_is_noticed(folder: Path) -> None:
    text = (folder / "manifest.json").read_bytes()
    (folder / "manifest.json").write_bytes(text.replace(b'"de"', b'"nl"'))
    assert "damaged or edited: its digest" in refusal(folder)
    (folder / "manifest.json").write_bytes(text[:-20])
    assert "not valid JSON" in refusal(folder)


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("kind", "pieces", "kind 'pieces'"),
        ("format", 2, "format 2, but this nmt reads format 1"),
        ("colour", "red", "unknown field 'colour'"),
        ("counts", {"train": 2, "valid": 1, "dev": 1}, "has a split 'dev'"),
        ("counts", {"train": 2, "valid": 1, "test": 1}, "does not name test.en"),
        ("text", {"nfc": "yes"}, "text.nfc"),
        ("files", [], "kind 'data'"),
    ],
)
def test_a_manifest_of_another_kind_format_or_content_is_refused(
    folder: Path, name: str, value: object, expected: str
) -> None:
    rewritten(folder, lambda values: values.update({name: value}))
    assert expected in refusal(folder)


def test_a_copied_folder_has_the_same_digest(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path / "copy")
    assert open_data_folder(tmp_path / "copy").digest == open_data_folder(folder).digest
