"""Data folders of a few lines, and a subword model of a small text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from nmt_cli.config import TextConfig
from nmt_cli.corpora.data_folder import DataDescription, DataFolder, open_data_folder, write_manifest
from nmt_cli.files import write_json
from nmt_cli.subwords.learning import learn_subwords
from nmt_cli.subwords.segmenter import Segmenter

TEXT = [
    "the quick brown fox jumps over the lazy dog",
    "she sells sea shells by the sea shore, and the shells she sells are sea shells",
    "  leading and  double spaces ",
    "</s> <s> <unk> <pad> <0x41> are text like any other",
    "ein Haus, zwei Häuser; über Öl läuft grüße Straße",
]


@pytest.fixture(scope="session")
def segmenter(tmp_path_factory: pytest.TempPathFactory) -> Segmenter:
    path = tmp_path_factory.mktemp("subwords") / "subwords.model"
    learn_subwords(TEXT * 3, path, vocab_size=400)
    return Segmenter.load(path)


def data_folder(folder: Path, splits: dict[str, tuple[Sequence[str], Sequence[str]]]) -> DataFolder:
    folder.mkdir()
    for split, sides in splits.items():
        for language, lines in zip(("en", "de"), sides, strict=True):
            (folder / f"{split}.{language}").write_bytes("".join(f"{line}\n" for line in lines).encode())
    write_json(folder / "report.json", {})
    description = DataDescription(
        source_language="en",
        target_language="de",
        text=TextConfig(lowercase=True),
        cleaning=None,
        counts={split: len(sides[0]) for split, sides in splits.items()},
        sources=[],
    )
    write_manifest(folder, description)
    return open_data_folder(folder)


@pytest.fixture
def make_data(tmp_path: Path) -> Callable[..., DataFolder]:
    return lambda splits, name="data": data_folder(tmp_path / name, splits)
