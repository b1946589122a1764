"""Corpora that `nmt prepare` knows by name."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from nmt_cli.cache import cache_folder
from nmt_cli.config import CleaningConfig
from nmt_cli.corpora.data_folder import KIND, MANIFEST
from nmt_cli.corpora.download import Tell
from nmt_cli.corpora.entries import Entry, catalogue_names, read_entry
from nmt_cli.corpora.preparing import Languages, PrepareConfig, prepare_splits, prepare_texts, refuse_inputs_in
from nmt_cli.corpora.report import Preparation
from nmt_cli.corpora.sources import texts_of
from nmt_cli.errors import UsageError
from nmt_cli.files import refuse_existing


def catalogue() -> dict[str, str]:
    """Return what each corpus is, by name."""
    return {name: read_entry(name).description for name in catalogue_names()}


def recipe_of(name: str) -> Mapping[str, object]:
    """Return the settings that a corpus's own recipe has: tables `text` and `cleaning`.

    Raises:
        UsageError: the corpus is unknown; the line names those that are.
    """
    entry = read_entry(name)
    return {"text": entry.text, "cleaning": entry.cleaning}


def prepare_catalogued(
    name: str, out: Path, config: PrepareConfig, *, folder: Path | None = None, force: bool = False, tell: Tell = print
) -> Preparation:
    """Write the data folder of a corpus in the catalogue; its files come from `folder`, the cache or the network.

    Raises:
        UsageError: an unknown name, settings that do not apply, or `out` may not be replaced.
        DataError: a file is damaged, or missing from `folder`.
        MachineError: a file cannot be fetched.
    """
    entry = read_entry(name)
    if entry.generated:
        return _generated(name, entry, out, config, folder=folder, force=force)
    refuse_existing(out, manifest=MANIFEST, kind=KIND, force=force)
    if folder is not None:
        refuse_inputs_in(out, [folder])
    texts = texts_of(entry, folder, cache_folder(), tell)
    train = texts.pop("train")
    return prepare_texts(train, texts, out, _languages(entry), config, force=force)


def _generated(
    name: str, entry: Entry, out: Path, config: PrepareConfig, *, folder: Path | None, force: bool
) -> Preparation:
    if config.cleaning != CleaningConfig():
        raise UsageError(f"{name}: comes clean and split; settings of cleaning are for files of your own")
    if folder is not None:
        raise UsageError(f"{name}: is made by this package; --from {folder} is for corpora that are fetched")
    from nmt_cli.corpora.demo.corpus import demo_corpus

    corpus = demo_corpus()
    splits = {"train": corpus.train, "valid": corpus.valid, "test": corpus.test}
    return prepare_splits(splits, out, _languages(entry), config, force=force)


def _languages(entry: Entry) -> Languages:
    return Languages(entry.source_language, entry.target_language)
