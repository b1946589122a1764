"""Corpora by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from nmt_cli.config import CleaningConfig, TextConfig
from nmt_cli.corpora.catalogue import catalogue, prepare_catalogued
from nmt_cli.corpora.data_folder import open_data_folder
from nmt_cli.corpora.demo.corpus import DemoCorpus
from nmt_cli.corpora.preparing import PrepareConfig
from nmt_cli.errors import UsageError


def test_an_unknown_name_is_refused_with_the_nearest_and_with_all() -> None:
    with pytest.raises(UsageError, match="did you mean 'demo-en-de'") as caught:
        prepare_catalogued("demo-en-dd", Path("never"), PrepareConfig())
    assert all(name in str(caught.value) for name in catalogue())
    with pytest.raises(UsageError, match="own files are named with --source"):
        prepare_catalogued("train.txt", Path("never"), PrepareConfig())


def test_the_demo_goes_through_as_it_is_split(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small = DemoCorpus(train=[("A dog.", "Ein Hund.")] * 2, valid=[("A dog.", "Ein Hund.")], test=[("Yes?", "Ja?")])
    monkeypatch.setattr("nmt_cli.corpora.demo.corpus.demo_corpus", lambda: small)
    config = PrepareConfig(text=TextConfig(lowercase=True))
    done = prepare_catalogued("demo-en-de", tmp_path / "out", config)
    data = open_data_folder(tmp_path / "out")
    assert data.counts == done.counts == {"train": 2, "valid": 1, "test": 1}
    assert data.file("train", "en").read_bytes() == b"a dog.\na dog.\n"
    assert data.file("test", "de").read_bytes() == b"ja?\n"


def test_settings_of_cleaning_are_refused_where_nothing_is_cleaned() -> None:
    with pytest.raises(UsageError, match="settings of cleaning are for files of your own"):
        prepare_catalogued("demo-en-de", Path("never"), PrepareConfig(cleaning=CleaningConfig(n_valid=5)))
