"""From what a person typed to files, languages and a folder, with every refusal that needs no reading."""

from __future__ import annotations

import re
from pathlib import Path

from nmt_cli.corpora.preparing import CorpusFiles, Languages
from nmt_cli.corpora.reading import PairFiles
from nmt_cli.errors import UsageError
from nmt_cli.files import real_path

_CODE = re.compile(r"(?=.{1,35}$)[A-Za-z0-9]+(?:-[A-Za-z0-9]+)*")  # RFC 5646 asks for room for 35 characters
_ENDINGS = {".gz", ".bz2", ".xz", ".zst", ".tsv", ".txt"}
Given = tuple[Path | None, Path | None]


def corpus_files(train: Given, valid: Given, test: Given) -> CorpusFiles:
    """Return the files of a corpus.

    Raises:
        UsageError: no source, a target without its source, or a file given twice.
    """
    if train[0] is None:
        raise UsageError("give --source and --target, or the name of a corpus; nmt prepare --list prints the names")
    for option, (source, target) in {"--": train, "--valid-": valid, "--test-": test}.items():
        if target is not None and source is None:
            raise UsageError(f"{option}target {target}: give {option}source too")
    valid_files = None if valid[0] is None else PairFiles(valid[0], valid[1])
    test_files = None if test[0] is None else PairFiles(test[0], test[1])
    files = CorpusFiles(PairFiles(train[0], train[1]), valid_files, test_files)
    seen = set[Path]()
    for path in files.paths:
        if real_path(path) in seen:
            raise UsageError(f"{path}: is given twice; each side of each split has a file of its own")
        seen.add(real_path(path))
    return files


def languages_of(source: str | None, target: str | None) -> Languages:
    """Return the two language codes.

    Raises:
        UsageError: one is missing or no code, or both are the same.
    """
    if source is None or target is None:
        missing = "--source-lang" if source is None else "--target-lang"
        raise UsageError(f"{missing} is needed: a language code such as en, de or pt-BR")
    for option, code in {"--source-lang": source, "--target-lang": target}.items():
        if not _CODE.fullmatch(code):
            raise UsageError(f"{option} {code!r}: a code has letters, digits and hyphens, such as en, de or pt-BR")
    if source.lower() == target.lower():
        raise UsageError(f"--source-lang and --target-lang are both {source!r}; files are named by them")
    return Languages(source, target)


def default_folder(files: CorpusFiles, languages: Languages) -> Path:
    """Return data/STEM-SOURCE-TARGET, where train.en.gz has the stem train."""
    name = files.train.source
    while name.suffix in {*_ENDINGS, f".{languages.source}"} and name.stem:
        name = name.with_suffix("")
    return Path("data") / f"{name.name}-{languages.source}-{languages.target}"
