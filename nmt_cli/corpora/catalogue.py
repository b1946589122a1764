"""Corpora that `nmt prepare` knows by name."""

from __future__ import annotations

from pathlib import Path

from nmt_cli.config import CleaningConfig
from nmt_cli.corpora.preparing import Languages, PrepareConfig, prepare_splits
from nmt_cli.corpora.report import Preparation
from nmt_cli.errors import UsageError
from nmt_cli.settings_files import suggestion

DEMO = "demo-en-de"
CATALOGUE = {DEMO: "everyday English and German, part of this package, needs no network"}


def check_name(name: str) -> None:
    """Make sure that a corpus is in the catalogue.

    Raises:
        UsageError: it is not; the line names those that are.
    """
    if name not in CATALOGUE:
        raise UsageError(
            f"corpus {name!r} is unknown{suggestion(name, list(CATALOGUE))}; there are: {', '.join(CATALOGUE)}; "
            "your own files are named with --source and --target"
        )


def prepare_catalogued(name: str, out: Path, config: PrepareConfig, *, force: bool = False) -> Preparation:
    """Write the data folder of a corpus in the catalogue, split as its makers split it.

    Raises:
        UsageError: an unknown name, settings of cleaning, or `out` may not be replaced.
    """
    check_name(name)
    if config.cleaning != CleaningConfig():
        raise UsageError(f"{name}: comes clean and split; settings of cleaning are for files of your own")
    from nmt_cli.corpora.demo.corpus import demo_corpus

    corpus = demo_corpus()
    splits = {"train": corpus.train, "valid": corpus.valid, "test": corpus.test}
    return prepare_splits(splits, out, Languages("en", "de"), config, force=force)
