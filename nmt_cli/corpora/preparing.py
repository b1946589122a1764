"""`nmt prepare`: files or a catalogued corpus in, a data folder out.

Files are read once. Pairs that are good in themselves wait in a hidden file, remembered as digests;
when all are known, each gets its fate and goes to its split.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np

from nmt_cli.config import CleaningConfig, Section, TextConfig
from nmt_cli.corpora.cleaning import count_words, is_blank, reason_to_drop
from nmt_cli.corpora.data_folder import KIND, MANIFEST, REPORT, DataDescription, SourceFile, write_manifest
from nmt_cli.corpora.drift import alignment_warning
from nmt_cli.corpora.hold_out import Fate, Fates, decide_fates
from nmt_cli.corpora.keys import PairKeys
from nmt_cli.corpora.reading import CheckedFile, PairFiles, read_pairs
from nmt_cli.corpora.report import OVERLAP, Dropped, Preparation, split_warnings
from nmt_cli.corpora.report_page import report_page
from nmt_cli.corpora.text_steps import apply
from nmt_cli.errors import DataError, UsageError
from nmt_cli.files import as_line, new_directory, real_path, sha256_of_file, visible, write_json
from nmt_cli.settings_files import merge, parse_assignment, validated

CANDIDATES = ".candidates"
SPLITS = {"train": Fate.TRAIN, "valid": Fate.VALID, "test": Fate.TEST}
REASONS = {Fate.DUPLICATE: "duplicate", Fate.OVERLAP: OVERLAP}


Texts = Sequence[list[CheckedFile]]
"""Source and target, or one file of two columns, each; several are read one after another."""


class PrepareConfig(Section):
    """What `prepare` follows."""

    text: TextConfig = TextConfig()
    cleaning: CleaningConfig = CleaningConfig()


def prepare_settings(
    *,
    lowercase: bool = False,
    moses: bool = False,
    assignments: Sequence[str] = (),
    recipe: Mapping[str, object] | None = None,
) -> PrepareConfig:
    """Return the settings that a command line asks for, over those of a corpus's own recipe.

    Raises:
        UsageError: an unknown section or field, or a value out of range; all at once.
    """
    flags = {"lowercase": lowercase, "moses": moses}
    values = merge(recipe or {}, {"text": {name: True for name, given in flags.items() if given}})
    for assignment in assignments:
        values = merge(values, parse_assignment(assignment))
    return validated(PrepareConfig, values, where="settings")


class Languages(NamedTuple):
    """Codes such as en and de."""

    source: str
    target: str


@dataclass(frozen=True)
class CorpusFiles:
    """The files of a corpus; what is not given is held out from train."""

    train: PairFiles
    valid: PairFiles | None = None
    test: PairFiles | None = None

    @property
    def given(self) -> dict[str, PairFiles]:
        """The held-out splits that the user has brought."""
        return {split: files for split, files in (("valid", self.valid), ("test", self.test)) if files is not None}

    @property
    def paths(self) -> list[Path]:
        """All files."""
        return [path for files in (self.train, *self.given.values()) for path in files.paths]


def prepare_files(
    files: CorpusFiles, out: Path, languages: Languages, config: PrepareConfig, *, force: bool = False
) -> Preparation:
    """Write the data folder of a person's own files.

    Raises:
        DataError: a file cannot be used, two are not parallel, or nothing is left.
        UsageError: `out` may not be replaced, or a file to read lies in it.
    """
    refuse_inputs_in(out, files.paths)
    train = [[CheckedFile(path) for path in files.train.paths]]
    given = {split: [[CheckedFile(path) for path in pair.paths]] for split, pair in files.given.items()}
    return prepare_texts(train, given, out, languages, config, force=force)


def prepare_texts(
    train: Texts,
    given: Mapping[str, Texts],
    out: Path,
    languages: Languages,
    config: PrepareConfig,
    *,
    force: bool = False,
) -> Preparation:
    """Write the data folder of texts: those of train are chosen from, those of `given` splits are all kept.

    Raises:
        DataError: a text cannot be used, two are not parallel, or nothing is left.
        UsageError: `out` may not be replaced.
    """
    with new_directory(out, manifest=MANIFEST, kind=KIND, force=force) as scratch:
        warnings = list[str]()
        held_out = {
            split: _write_split(scratch, split, _all_pairs(texts, languages, config, warnings), languages)
            for split, texts in given.items()
        }
        dropped = Dropped()
        pairs = _collect(train, scratch / CANDIDATES, languages, config, dropped)
        fates = decide_fates(pairs, held_out, config.cleaning)
        _distribute(scratch, pairs, fates, languages, dropped)
        splits = held_out | {name: pairs.only(fates == fate) for name, fate in SPLITS.items() if name not in held_out}
        splits = {name: splits[name] for name in SPLITS if len(splits[name])}
        read = [file for texts in (train, *given.values()) for files in texts for file in files]
        lines, first = sum(files[0].lines for files in train), train[0][0].path
        if "train" not in splits:
            reasons = ", ".join(f"{count:,} {reason}" for reason, count in dropped.counts.most_common())
            raise DataError(f"{first}: none of {lines:,} pairs is left ({reasons or 'empty file'})")
        warnings = [warning for file in read for warning in file.warnings()] + warnings
        if suspicion := alignment_warning(pairs):
            warnings.append(f"{first}: {suspicion}")
        warnings += split_warnings(splits, held_out, dropped, config.cleaning)
        done = Preparation(out, lines, splits, dropped, warnings)
        _describe(scratch, done, languages, config, config.cleaning, [_source_file(file) for file in read])
    return done


def prepare_splits(
    splits: Mapping[str, Iterable[tuple[str, str]]],
    out: Path,
    languages: Languages,
    config: PrepareConfig,
    *,
    force: bool,
) -> Preparation:
    """Write the data folder of a corpus that comes in splits, every pair of it.

    Raises:
        UsageError: `out` may not be replaced.
    """
    with new_directory(out, manifest=MANIFEST, kind=KIND, force=force) as scratch:
        written = {
            split: _write_split(scratch, split, (_stepped(pair, languages, config) for pair in pairs), languages)
            for split, pairs in splits.items()
        }
        done = Preparation(out, sum(map(len, written.values())), written, Dropped(), [])
        _describe(scratch, done, languages, config, None, [])
    return done


def refuse_inputs_in(out: Path, paths: list[Path]) -> None:
    """Refuse to write where there is something to read.

    Raises:
        UsageError: one of the paths is, or lies in, the folder to write.
    """
    for path in paths:
        if real_path(path).is_relative_to(real_path(out)):
            raise UsageError(f"{path}: is to be read, but lies in {out}, which is to be written; name another --out")


def _stepped(pair: tuple[str, str], languages: Languages, config: PrepareConfig) -> tuple[str, str]:
    source, target = (
        as_line(apply(text, config.text, language)) for text, language in zip(pair, languages, strict=True)
    )
    return source, target


def _all_pairs(
    texts: Texts, languages: Languages, config: PrepareConfig, warnings: list[str]
) -> Iterator[tuple[str, str]]:
    """Yield every pair of a held-out split: dropping one would part it from its file."""
    n_empty = 0
    for files in texts:
        for raw in read_pairs(files):
            source, target = _stepped((raw.source, raw.target), languages, config)
            n_empty += is_blank(source) or is_blank(target)
            yield source, target
        if not files[0].lines:
            raise DataError(f"{files[0].path}: empty; leave the option out to hold pairs out of train")
    if n_empty:
        warnings.append(
            f"{texts[0][0].path}: {n_empty:,} pairs have an empty side; they are kept, as every held-out line"
        )


@contextlib.contextmanager
def _both_sides(folder: Path, split: str, languages: Languages) -> Iterator[tuple[BinaryIO, BinaryIO]]:
    source, target = (folder / f"{split}.{language}" for language in languages)
    with source.open("wb") as sources, target.open("wb") as targets:
        yield sources, targets


def _write_split(folder: Path, split: str, pairs: Iterable[tuple[str, str]], languages: Languages) -> PairKeys:
    keys = PairKeys()
    with _both_sides(folder, split, languages) as (sources, targets):
        for line, (source, target) in enumerate(pairs, start=1):
            sources.write(source.encode() + b"\n")
            targets.write(target.encode() + b"\n")
            keys.add(line, source, target, (count_words(source), count_words(target)))
    return keys


def _collect(texts: Texts, path: Path, languages: Languages, config: PrepareConfig, dropped: Dropped) -> PairKeys:
    """Write the pairs that are good in themselves to a file, TAB between; return what to remember of them."""
    keys = PairKeys(seed=config.cleaning.seed)
    with path.open("wb") as stream:
        for line, raw in enumerate(itertools.chain.from_iterable(map(read_pairs, texts)), start=1):
            if raw.problem is not None:
                dropped.add(raw.problem, line, raw.source, raw.target)
                continue
            source, target = _stepped((raw.source, raw.target), languages, config)
            words = count_words(source), count_words(target)
            if reason := reason_to_drop(source, target, words, config.cleaning):
                dropped.add(reason, line, raw.source, raw.target)
                continue
            stream.write(f"{source}\t{target}\n".encode())
            keys.add(line, source, target, words)
    return keys


def _distribute(scratch: Path, pairs: PairKeys, fates: Fates, languages: Languages, dropped: Dropped) -> None:
    """Bring each waiting pair where its fate says, in the order of the files, and remove the waiting file."""
    with contextlib.ExitStack() as stack:
        outputs = {
            int(fate): stack.enter_context(_both_sides(scratch, split, languages))
            for split, fate in SPLITS.items()
            if np.any(fates == fate)
        }
        waiting = stack.enter_context((scratch / CANDIDATES).open("rb"))
        for fate, line, pair in zip(fates.tobytes(), pairs.lines.tolist(), waiting, strict=True):
            source, _, target = pair.partition(b"\t")
            if fate in outputs:
                outputs[fate][0].write(source + b"\n")
                outputs[fate][1].write(target)
            else:
                dropped.add(REASONS[Fate(fate)], line, source.decode(), target.decode().removesuffix("\n"))
    (scratch / CANDIDATES).unlink()


def _source_file(file: CheckedFile) -> SourceFile:
    digest = file.sha256 or (sha256_of_file(file.path) if file.path.is_file() else None)
    return SourceFile(name=visible(file.path.name), sha256=digest, lines=file.lines)


def _describe(
    scratch: Path,
    done: Preparation,
    languages: Languages,
    config: PrepareConfig,
    cleaning: CleaningConfig | None,
    sources: list[SourceFile],
) -> None:
    write_json(scratch / REPORT, done.as_json())
    (scratch / "report.html").write_bytes(report_page(done).encode())
    description = DataDescription(
        source_language=languages.source,
        target_language=languages.target,
        text=config.text,
        cleaning=cleaning,
        counts=done.counts,
        sources=sources,
    )
    write_manifest(scratch, description)
