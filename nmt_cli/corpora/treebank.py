"""`nmt prepare wsj-parsing --from PTB`: words as source, linear trees as target.

Beside the usual files of a data folder, each split has SPLIT.tags and SPLIT.trees (clean, one a line): what
scoring needs.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from pydantic import Field, field_validator

from nmt_cli.config import Section, TextConfig
from nmt_cli.corpora.data_folder import KIND, MANIFEST, REPORT, SPLITS, DataDescription, SourceFile, write_manifest
from nmt_cli.corpora.keys import PairKeys
from nmt_cli.corpora.report import Dropped, Preparation
from nmt_cli.errors import DataError, UsageError
from nmt_cli.files import new_directory, real_path, require_folder, sha256_of_file, visible, write_json
from nmt_cli.trees.linear import linearise
from nmt_cli.trees.tree import clean, read_trees

SOURCE, TARGET = "en", "brackets"
NO_WORDS = "tree_without_words"
_FILE = re.compile(r"wsj_(\d{4})(?:\.mrg)?")
_RANGE = re.compile(r"(\d{4})-(\d{4})")


class TreebankConfig(Section):
    """Which files of the treebank go where: wsj_0200 is the first file of section 2 (paper, section 6.3)."""

    train: str = Field(default="0200-2199", description="first and last file number")
    valid: str = Field(default="2200-2299", description="first and last file number")
    test: str = Field(default="2300-2399", description="first and last file number")
    form: Literal["vinyals", "t2t"] = Field(default="vinyals", description="how a tree is written as a string")

    @field_validator("train", "valid", "test")
    @classmethod
    def is_a_range(cls, value: str) -> str:
        """Refuse what is no range of files."""
        found = _RANGE.fullmatch(value)
        if not found or found[1] > found[2]:
            raise ValueError(f"{value!r} is no range of files; write it as 0200-2199")
        return value

    def split_of(self, number: str) -> str | None:
        """Return the split of a file number, if it is in any."""
        for split in SPLITS:
            first, last = getattr(self, split).split("-")
            if first <= number <= last:
                return split
        return None

    def refuse_overlap(self) -> None:
        """Make sure that no file goes to two splits.

        Raises:
            UsageError: one does.
        """
        ranges = sorted((*getattr(self, split).split("-"), split) for split in SPLITS)
        for (_, last, split), (first, _, other) in itertools.pairwise(ranges):
            if first <= last:
                raise UsageError(f"treebank.{split} ends with file {last}, but treebank.{other} begins with {first}")


def prepare_treebank(folder: Path, out: Path, config: TreebankConfig, *, force: bool = False) -> Preparation:
    """Write the data folder of a treebank that lies below a folder, in one folder or in one a section.

    Raises:
        DataError: a split has no files, two files have one number, or a file holds no trees.
        UsageError: the splits overlap, or `out` may not be replaced or lies over the treebank.
    """
    config.refuse_overlap()
    require_folder(folder, wanted="a folder of wsj_NNNN.mrg files", error=DataError)
    if real_path(folder).is_relative_to(real_path(out)):
        raise UsageError(f"{folder}: is to be read, but lies in {out}, which is to be written; name another --out")
    files = treebank_files(folder, config)
    dropped, sources, lines = Dropped(), list[SourceFile](), 0
    with new_directory(out, manifest=MANIFEST, kind=KIND, force=force) as scratch:
        splits = dict[str, PairKeys]()
        for split, paths in files.items():
            splits[split] = _write_split(scratch, split, paths, config, dropped, sources)
            if not len(splits[split]):
                raise DataError(f"{paths[0]}: no trees with words in {len(paths)} files of {split}")
        lines = sum(source.lines for source in sources)
        done = Preparation(out, lines, splits, dropped, [])
        write_json(scratch / REPORT, done.as_json())
        text = TextConfig(nfc=False, fold_spaces=False)
        description = DataDescription(
            source_language=SOURCE,
            target_language=TARGET,
            text=text,
            cleaning=None,
            counts=done.counts,
            sources=sources,
        )
        write_manifest(scratch, description)
    return done


def treebank_files(folder: Path, config: TreebankConfig) -> dict[str, list[Path]]:
    """Return the files of each split, by number.

    Raises:
        DataError: a split has none, or two files have one number.
    """
    found = dict[str, Path]()
    for path in sorted(folder.rglob("wsj_*")):
        name = _FILE.fullmatch(path.name)
        if name is None or not path.is_file() or config.split_of(name[1]) is None:
            continue
        if name[1] in found:
            raise DataError(f"{path}: {found[name[1]]} has the number {name[1]} too; leave one of them out")
        found[name[1]] = path
    files = {split: [found[n] for n in sorted(found) if config.split_of(n) == split] for split in SPLITS}
    if missing := [split for split, paths in files.items() if not paths]:
        wanted = ", ".join(f"{split} wsj_{getattr(config, split)}" for split in missing)
        raise DataError(
            f"{folder}: no files for {wanted}; for a part of the treebank, --set treebank.train=0001-0159 ..."
        )
    return files


def _write_split(
    scratch: Path,
    split: str,
    paths: list[Path],
    config: TreebankConfig,
    dropped: Dropped,
    sources: list[SourceFile],
) -> PairKeys:
    keys = PairKeys()
    columns = [(scratch / f"{split}.{ending}").open("wb") for ending in (SOURCE, TARGET, "tags", "trees")]
    try:
        for number, row in enumerate(_rows(paths, config, dropped, sources), start=1):
            for stream, text in zip(columns, row, strict=True):
                stream.write(text.encode() + b"\n")
            source, target, *_ = row
            keys.add(number, source, target, (len(source.split()), len(target.split())))
    finally:
        for stream in columns:
            stream.close()
    return keys


def _rows(
    paths: list[Path], config: TreebankConfig, dropped: Dropped, sources: list[SourceFile]
) -> Iterator[tuple[str, str, str, str]]:
    """Yield words, linear form, tags and tree of each sentence."""
    for path in paths:
        trees = read_trees(path)
        sources.append(SourceFile(name=visible(path.name), sha256=sha256_of_file(path), lines=len(trees)))
        for number, tree in enumerate(trees, start=1):
            cleaned = clean(tree)
            if cleaned is None:
                dropped.add(NO_WORDS, number, path.name, str(tree))
                continue
            yield " ".join(cleaned.words), linearise(cleaned, config.form), " ".join(cleaned.tags), str(cleaned)
