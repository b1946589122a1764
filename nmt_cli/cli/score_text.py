"""The part of `nmt score` that holds translations against references."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nmt_cli.scoring.systems import Sampling, System

Named = tuple[str, list[str]]


def print_scores(
    references: Sequence[Path],
    hypotheses: Sequence[Path],
    *,
    target_lang: str | None,
    tokenize: str | None,
    lowercase: bool,
    sampling: Sampling | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Print the scores of each file of translations, or of standard input where none is named.

    Raises:
        DataError: unequal numbers of lines, or bytes that are not UTF-8.
        UsageError: no language code, or a tokeniser that is not installed.
    """
    from nmt_cli.cli.output import announce
    from nmt_cli.files import read_lines
    from nmt_cli.scoring.bleu import default_tokeniser, installed_tokeniser
    from nmt_cli.scoring.result import check_parallel
    from nmt_cli.scoring.systems import score_systems

    language = language_code(target_lang) if target_lang is not None else language_of_file(references[0])
    tokeniser = installed_tokeniser(tokenize) if tokenize else default_tokeniser(language)
    against = [(str(path), read_lines(path)) for path in references]
    systems = [_lines_of(path) for path in hypotheses] or [_lines_of(Path("-"))]
    for name, lines in systems:
        check_parallel(lines, dict(against), name=name)
    if not quiet:
        for name, lines in [*systems, *against]:
            for remark in remarks_on(lines, tokeniser=tokeniser):
                announce(f"{name}: {remark}")
    found = score_systems(
        systems,
        *(lines for _, lines in against),
        target_language=language,
        tokeniser=tokeniser,
        lowercase=lowercase,
        sampling=sampling,
    )
    if as_json:
        _print_json(found, [name for name, _ in against])
    else:
        _print_lines(found)


def _lines_of(path: Path) -> Named:
    from nmt_cli.cli.standard_input import lines_of_stdin
    from nmt_cli.files import read_lines

    return ("standard input", lines_of_stdin()) if str(path) == "-" else (str(path), read_lines(path))


def _print_lines(systems: Sequence[System]) -> None:
    from nmt_cli.cli.output import print_result

    for number, system in enumerate(systems):
        if len(systems) > 1:
            against = f", against {systems[0].name}" if system.comparisons else ""
            print_result(f"{system.name}{against}")
        for line in system.lines():
            print_result(line)
        if number < len(systems) - 1:
            print_result("")


def _print_json(systems: Sequence[System], references: Sequence[str]) -> None:
    import json

    from nmt_cli.cli.output import print_result

    records = [{"hypothesis": system.name, "scores": system.as_json()} for system in systems]
    shared = {
        "references": list(references),
        "lines": systems[0].scores.n_lines,
        "target_language": systems[0].scores.target_language,
    }
    value = shared | (records[0] if len(records) == 1 else {"systems": records})
    print_result(json.dumps(value, ensure_ascii=False))


def language_code(text: str) -> str:
    """Return the language of a code such as de, DE or pt-BR.

    Raises:
        UsageError: no language code.
    """
    import re

    from nmt_cli.errors import UsageError

    if not re.fullmatch(r"[A-Za-z]{2,3}([-_][A-Za-z0-9]+)*", text):
        raise UsageError(f"--target-lang {text!r} is no language code; give one such as de, fr or zh")
    return re.split("[-_]", text)[0].lower()


def language_of_file(path: Path) -> str:
    """Return the language that a file's name ends in, as in test.de or test.de.gz; en where it tells none."""
    from nmt_cli.scoring.moses import known_languages

    endings = [ending.lstrip(".") for ending in path.suffixes if ending not in {".gz", ".bz2", ".xz", ".zst"}]
    return endings[-1] if endings and endings[-1] in known_languages() else "en"


def remarks_on(lines: Sequence[str], *, tokeniser: str) -> list[str]:
    """Return what somebody should know of a text before its scores are believed."""
    remarks = []
    apart = sum(line.endswith(" .") for line in lines)
    attached = sum(line.endswith(".") for line in lines) - apart
    if apart > attached and tokeniser != "none":
        remarks.append(
            f"{apart:,} of {len(lines):,} lines end in ' .', so it looks tokenised; sacreBLEU is for plain text"
        )
    if tokeniser in {"13a", "intl"}:
        han = sum(any("\u3040" <= sign <= "\u9fff" for sign in line) for line in lines)
        if han > len(lines) / 2:
            remarks.append(
                f"{han:,} of {len(lines):,} lines hold Chinese or Japanese, which tokeniser {tokeniser!r} does not "
                "part; give --target-lang zh or ja"
            )
    if empty := sum(not line.strip() for line in lines):
        remarks.append(f"{empty:,} of {len(lines):,} lines are empty, and scored as they are")
    return remarks
