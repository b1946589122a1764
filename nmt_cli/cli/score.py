"""`nmt score`: translations against references, in named protocols."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, BinaryIO

import typer


class Tokeniser(enum.StrEnum):
    """Tokenisers of sacreBLEU, as the command line offers them."""

    V13A = "13a"
    ZH = "zh"
    INTL = "intl"
    CHAR = "char"
    NONE = "none"
    JA_MECAB = "ja-mecab"
    KO_MECAB = "ko-mecab"


def score(
    reference: Annotated[
        list[Path] | None,
        typer.Option(help="Reference translations, a line each; given again for more.", show_default=False),
    ] = None,
    hypothesis: Annotated[
        Path | None,
        typer.Argument(metavar="HYP", help="Translations, a line each; standard input without it, or for -."),
    ] = None,
    target_lang: Annotated[
        str | None,
        typer.Option(help="Language code, for tokenising.", show_default="the ending of the reference's name, else en"),
    ] = None,
    lowercase: Annotated[bool, typer.Option("--lowercase", help="Score without regard to case.")] = False,
    tokenize: Annotated[
        Tokeniser | None, typer.Option(help="sacreBLEU's tokeniser.", show_default="that of the language, mostly 13a")
    ] = None,
    model: Annotated[
        Path | None, typer.Option(help="Model folder: print the log-probability of each translation, in nats.")
    ] = None,
    source: Annotated[Path | None, typer.Option(help="With --model: what was translated, a line each.")] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON object in place of lines; with --model one a line.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No remarks on stderr.")] = False,
) -> None:
    """Score translations: sacreBLEU with its signature, tokenised BLEU as in older papers, chrF and TER.

    With --model and --source in place of --reference: how probable a model finds each of them.
    """
    import json

    if model is not None or source is not None:
        print_log_probs(model, source, hypothesis, reference, as_json=as_json)
        return
    if not reference:
        raise typer.BadParameter("give --reference FILE, or --model FOLDER and --source FILE", param_hint="--reference")

    from nmt_cli.cli.output import announce, print_result
    from nmt_cli.files import read_lines
    from nmt_cli.scoring.bleu import installed_tokeniser
    from nmt_cli.scoring.result import check_parallel
    from nmt_cli.scoring.scores import score_translations

    language = language_code(target_lang) if target_lang is not None else language_of_file(reference[0])
    tokeniser = installed_tokeniser(tokenize.value) if tokenize else None
    references = [read_lines(path) for path in reference]
    name, hypotheses = (
        ("standard input", lines_of_stdin())
        if hypothesis is None or str(hypothesis) == "-"
        else (str(hypothesis), read_lines(hypothesis))
    )
    by_name = dict(zip(map(str, reference), references, strict=True))
    check_parallel(hypotheses, by_name, name=name)
    if not quiet and tokenize is not Tokeniser.NONE:
        for label, lines in ({name: hypotheses} | by_name).items():
            if remark := remark_on_tokenised(lines):
                announce(f"{label}: {remark}")
    scores = score_translations(
        hypotheses, *references, target_language=language, tokeniser=tokeniser, lowercase=lowercase
    )
    if as_json:
        files = {"hypothesis": name, "references": [str(path) for path in reference]}
        print_result(json.dumps(files | scores.as_json(), ensure_ascii=False))
        return
    for line in scores.lines():
        print_result(line)


def print_log_probs(
    model: Path | None, source: Path | None, target: Path | None, reference: list[Path] | None, *, as_json: bool
) -> None:
    """Print what a model makes of each given translation, a line each."""
    import contextlib
    import itertools
    import json
    import math

    from nmt_cli.cli.output import flush_results, write_result
    from nmt_cli.decoding.engine import use_allowed_cores
    from nmt_cli.decoding.given import scores_of_files
    from nmt_cli.decoding.translator import Translator
    from nmt_cli.files import open_for_reading

    if model is None or source is None:
        missing = "--model" if model is None else "--source"
        raise typer.BadParameter("--model and --source go together", param_hint=missing)
    if reference:
        raise typer.BadParameter("a model scores without references; leave it out", param_hint="--reference")
    use_allowed_cores()
    translator = Translator.load(model)
    is_stdin = target is None or str(target) == "-"
    name = "standard input" if is_stdin else str(target)
    with contextlib.nullcontext(stdin()) if is_stdin or target is None else open_for_reading(target) as stream:
        numbers = itertools.count(1)
        for scores in scores_of_files(translator, source, stream, target_name=name):
            for number, score in zip(numbers, scores, strict=False):
                known = score.log_prob if math.isfinite(score.log_prob) else None
                record = {"line": number, "log_prob": known, "tokens": score.tokens}
                line = json.dumps(record) if as_json else f"{score.log_prob:.6f}"
                write_result(line.encode("ascii") + b"\n")
            flush_results()


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


def lines_of_stdin() -> list[str]:
    """Return the lines of standard input, strictly.

    Raises:
        DataError: unreadable, or a byte that is not UTF-8 (with line and column).
    """
    from nmt_cli.errors import DataError
    from nmt_cli.files import read_records

    lines = []
    try:
        for number, record in enumerate(read_records(stdin()), start=1):
            if record.bad_column is not None:
                raise DataError(f"standard input:{number}:{record.bad_column}: not UTF-8; convert the text first")
            lines.append(record.text)
    except OSError as error:
        raise DataError(f"standard input: cannot be read ({error.strerror or error})") from None
    return lines


def stdin() -> BinaryIO:
    """Return the bytes of standard input.

    Raises:
        DataError: it is closed.
    """
    import sys

    from nmt_cli.errors import DataError

    # A closed standard input is None, whatever its type says.
    stream: BinaryIO | None = getattr(sys.stdin, "buffer", None)
    if stream is None:
        raise DataError("standard input: closed; name a file of translations")
    return stream


def remark_on_tokenised(lines: Sequence[str]) -> str:
    """Return what to say when most sentences end in a period that stands alone, else nothing."""
    apart = sum(line.endswith(" .") for line in lines)
    attached = sum(line.endswith(".") for line in lines) - apart
    if apart <= attached:
        return ""
    return f"{apart:,} of {len(lines):,} lines end in ' .', so it looks tokenised; sacreBLEU is for plain text"
