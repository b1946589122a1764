"""What exports share: the lines that they are checked on, their manifest, and what is said of the text."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path

from nmt_cli.config import TextConfig
from nmt_cli.corpora.text_steps import apply
from nmt_cli.errors import DataError
from nmt_cli.files import open_for_reading, read_records, sha256_of_file
from nmt_cli.model_folder import ModelFolder
from nmt_cli.sealed import write_sealed
from nmt_cli.subwords.segmenter import END, Segmenter

MANIFEST = "nmt.json"
MOST_CHECKED = 1000
"""Lines of a file, from its beginning, that an export is checked on."""
OWN_LINES = (
    "Good morning, how are you today?",
    "The bridge over the river was closed for two weeks.",
    "A man in a blue shirt is standing on a ladder.",
    "Please send me the letter before Friday.",
    "She bought three apples, a loaf of bread and some milk.",
    "Nobody knew why the train had stopped between two stations.",
    "If it rains tomorrow, we will stay at home and read.",
    "The price rose by 4.5 % in 2019, to 1,250 dollars.",
    "Two children are playing with a dog in the snow.",
    "I have never seen such a large garden in the middle of a city!",
    "Der Lehrer erklärt den Kindern, wie der Motor arbeitet.",
    "Nous avons attendu le bus pendant une heure.",
    "El museo está cerrado los lunes.",
    "明天我们去图书馆看书。",
    "Завтра утром придёт поезд из города.",
    "WHERE IS THE STATION",
)
"""What is checked where no file is named. To a model of other languages they are odd, but must be the same odd."""


def lines_to_check(path: Path | None) -> list[str]:
    """Return the first lines of a file, or where none is named our own.

    Raises:
        DataError: the file cannot be read.
    """
    if path is None:
        return list(OWN_LINES)
    with open_for_reading(path) as stream:
        return [record.text for record in itertools.islice(read_records(stream), MOST_CHECKED)]


def sources_to_check(folder: ModelFolder, lines: Sequence[str], *, longest: int) -> list[list[int]]:
    """Return the ids of lines with their end symbols; blank ones and those over `longest` are left out.

    Raises:
        DataError: no line is left.
    """
    description = folder.description
    texts = [apply(line, description.text, description.source_language) for line in lines]
    encoded = Segmenter.load(folder.source_subwords).encode([text for text in texts if text.strip()])
    sources = [[*ids, END] for ids in encoded if len(ids) < longest]
    if not sources:
        raise DataError(
            f"no line to check the export on: all of {len(lines)} are blank or have {longest:,} pieces and more"
        )
    return sources


def write_export_manifest(target: Path, folder: ModelFolder, values: Mapping[str, object]) -> None:
    """Write what an export is, where it came from and the digests of its files; last, for then it is complete.

    `values` hold its kind and what was found in the check.
    """
    description = folder.description
    files = {path.name: sha256_of_file(path) for path in sorted(target.iterdir())}
    about = description.model_dump(
        mode="json", include={"source_language", "target_language", "search", "text", "step", "licence", "provenance"}
    )
    write_sealed(target / MANIFEST, {**values, "weights": folder.digests, **about, "files": files})


def steps_before(text: TextConfig, language: str) -> list[str]:
    """Return what is done to a line before its pieces are looked for, in words and in order."""
    steps = ["remove control characters and U+FEFF"]
    if text.lowercase:
        steps.append("lower-case the line")
    if text.nfc:
        steps.append("put it into Unicode normal form C")
    steps.append("make each run of white space one space, with none at the ends" if text.fold_spaces else "")
    if text.moses:
        steps.append(f"tokenise it by `sacremoses.MosesTokenizer({language!r}).tokenize(line, escape=False)`")
    return [step for step in steps if step]


def steps_after(text: TextConfig, language: str) -> list[str]:
    """Return what is done to a decoded line, in words."""
    if not text.moses:
        return []
    return [f"join its tokens by `sacremoses.MosesDetokenizer({language!r}).detokenize(line.split(), unescape=False)`"]
