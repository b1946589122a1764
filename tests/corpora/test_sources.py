"""Catalogued corpora from the archives to the data folder, in stand-ins with the layout of the real ones."""

from __future__ import annotations

import gzip
import hashlib
import io
import tarfile
from pathlib import Path

import pytest

from nmt_cli.corpora.catalogue import prepare_catalogued, recipe_of
from nmt_cli.corpora.data_folder import open_data_folder
from nmt_cli.corpora.entries import catalogue_names, read_entry
from nmt_cli.corpora.preparing import prepare_settings
from nmt_cli.corpora.report import Preparation
from nmt_cli.errors import DataError, UsageError

TOML = """
description = "a stand-in"
source_language = "en"
target_language = "de"
licence = "none"
[cleaning]
max_ratio = 2.0
drop_duplicates = false
[archives.text]
file = "text.tgz"
urls = ["http://127.0.0.1:9/text.tgz"]
known_from = "this test"
sha256 = "{sha256}"
[archives.more]
file = "more.tar"
urls = ["http://127.0.0.1:9/more.tar"]
known_from = "this test"
[[parts]]
split = "train"
source = {{ archive = "text", member = "training/t.en" }}
target = {{ archive = "text", member = "training/t.de" }}
[[parts]]
split = "train"
source = {{ archive = "more", member = "giga.en.gz" }}
target = {{ archive = "more", member = "giga.de.gz" }}
[[parts]]
split = "test"
source = {{ archive = "text", member = "test/src.en.sgm" }}
target = {{ archive = "text", member = "test/ref.de.sgm" }}
lines = 2
"""
MEMBERS = {
    "training/t.en": b"one\ntwo two two\nfour\nfour\nx &amp;\n",
    "training/t.de": b"eins\nzwei\nvier\nvier\ny\n",
    "test/src.en.sgm": b'<doc>\n<seg id="1">a &amp; b</seg>\n<seg id="2">x &amp;</seg>\n</doc>\n',
    "test/ref.de.sgm": b'<doc>\n<seg id="1">a und b</seg>\n<seg id="2">z</seg>\n</doc>\n',
}
MORE = {"giga.en.gz": gzip.compress(b"seven\n"), "giga.de.gz": gzip.compress(b"sieben\n")}


def tar_of(path: Path, members: dict[str, bytes]) -> None:
    with tarfile.open(path, "w:gz" if path.suffix == ".tgz" else "w") as tar:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "files"
    folder.mkdir()
    tar_of(folder / "text.tgz", MEMBERS)
    tar_of(folder / "more.tar", MORE)
    (tmp_path / "own").mkdir()
    digest = hashlib.sha256((folder / "text.tgz").read_bytes()).hexdigest()
    (tmp_path / "own" / "stand-in.toml").write_text(TOML.format(sha256=digest))
    monkeypatch.setenv("NMT_CATALOGUE", str(tmp_path / "own"))
    monkeypatch.setenv("NMT_CACHE", str(tmp_path / "cache"))
    return folder


def prepared(files: Path) -> Preparation:
    settings = prepare_settings(recipe=recipe_of("stand-in"))
    return prepare_catalogued("stand-in", files.parent / "out", settings, folder=files, tell=lambda _: None)


def test_parts_are_read_in_their_order_and_cleaned_as_the_recipe_says(files: Path) -> None:
    done = prepared(files)
    data = open_data_folder(files.parent / "out")
    assert data.file("train", "en").read_bytes() == b"one\nfour\nfour\nx &amp;\nseven\n"
    assert data.file("train", "de").read_bytes() == b"eins\nvier\nvier\ny\nsieben\n"
    assert data.file("test", "en").read_bytes() == b"a & b\nx &\n"
    assert done.dropped.counts == {"ratio": 1}
    assert done.lines == 6


def test_unpacked_files_do_as_well_as_the_archive(files: Path) -> None:
    prepared(files)
    whole = (files.parent / "out" / "train.en").read_bytes()
    for archive in list(files.iterdir()):
        archive.unlink()
    for name, data in MEMBERS.items():
        (files / name).parent.mkdir(exist_ok=True)
        (files / name).write_bytes(data)
    (files / "giga.en").write_bytes(gzip.decompress(MORE["giga.en.gz"]))
    (files / "giga.de.gz").write_bytes(MORE["giga.de.gz"])
    (files.parent / "out").rename(files.parent / "first")
    prepared(files)
    assert (files.parent / "out" / "train.en").read_bytes() == whole


def test_what_is_missing_is_named_with_its_address(files: Path) -> None:
    (files / "more.tar").unlink()
    with pytest.raises(DataError, match=r"lacks more\.tar \(http://127\.0\.0\.1:9/more\.tar\); put each there"):
        prepared(files)
    assert not (files.parent / "out").exists()


def test_a_damaged_archive_and_a_test_set_of_another_length_are_refused(files: Path) -> None:
    toml = files.parent / "own" / "stand-in.toml"
    toml.write_text(toml.read_text().replace("lines = 2", "lines = 3"))
    with pytest.raises(DataError, match="2 lines, but the catalogue knows of 3"):
        prepared(files)
    (files / "text.tgz").write_bytes((files / "text.tgz").read_bytes()[:-9])
    for _ in range(2):
        with pytest.raises(DataError, match="its SHA-256 is"):
            prepared(files)
    assert not (files.parent / "out").exists()


def test_every_entry_of_the_package_can_be_read_and_its_recipe_followed() -> None:
    for name in catalogue_names():
        entry = read_entry(name)
        assert entry.generated or entry.treebank or entry.archives, name
        prepare_settings(recipe=recipe_of(name))


def test_an_entry_with_a_mistake_is_refused_by_name(files: Path) -> None:
    toml = files.parent / "own" / "stand-in.toml"
    text = toml.read_text()
    for old, new, said in [
        ('member = "training/t.en"', 'member = "../t.en"', "no plain path"),
        ('archive = "more"', 'archive = "mor"', "stands in only one of"),
        ('file = "more.tar"', 'file = "../more.tar"', "archives.more.file"),
        ("http://127", "file:///127", "archives.text.urls.0"),
    ]:
        toml.write_text(text.replace(old, new))
        with pytest.raises(UsageError, match=said):
            read_entry("stand-in")
