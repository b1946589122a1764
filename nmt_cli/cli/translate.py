"""`nmt translate`: a line out for each line in."""

from __future__ import annotations

import contextlib
import dataclasses
import enum
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from nmt_cli.config import SearchConfig
    from nmt_cli.decoding.streaming import Blocks, Tally
    from nmt_cli.decoding.translator import Translation
    from nmt_cli.model_folder import ModelFolder

SECONDS_BETWEEN_REMARKS = 15


class Format(enum.StrEnum):
    """What an output line is."""

    TEXT = "text"
    JSONL = "jsonl"


class Penalty(enum.StrEnum):
    """Length penalties by name."""

    WU = "wu"
    LENGTH = "length"
    NONE = "none"


class Device(enum.StrEnum):
    """Where the model computes."""

    AUTO = "auto"
    CPU = "cpu"
    CUDA = "cuda"


def translate(
    file: Annotated[
        Path | None,
        typer.Argument(help="Text, a sentence a line, packed or plain; standard input without it, or for -."),
    ] = None,
    model: Annotated[
        Path | None, typer.Option(help="Model folder, or a run's checkpoint. Default: $NMT_MODEL.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option(help="File to write, complete or not at all. Default, and for -: stdout.")
    ] = None,
    beam_size: Annotated[int | None, typer.Option(help="Hypotheses kept a step. Default: the model's.")] = None,
    length_penalty: Annotated[
        Penalty | None,
        typer.Option(help="Score is log-probability over ((5+n)/6)^alpha, n^alpha or 1. Default: the model's."),
    ] = None,
    alpha: Annotated[float | None, typer.Option(help="Exponent of the length penalty. Default: the model's.")] = None,
    max_extra: Annotated[
        int | None, typer.Option(help="Most tokens that an output is longer than its source. Default: the model's.")
    ] = None,
    min_length: Annotated[
        int | None, typer.Option(help="Tokens that must come before an output may end. Default: the model's.")
    ] = None,
    n_best: Annotated[
        int | None, typer.Option(help="Translations a line, at most the beam; above 1 as JSON lines. Default: 1.")
    ] = None,
    batch_tokens: Annotated[
        int | None, typer.Option(help="Source tokens times beam size, together at most. Default: the model's.")
    ] = None,
    device: Annotated[Device, typer.Option(help="auto: a GPU where there is one.")] = Device.AUTO,
    output_format: Annotated[
        Format | None, typer.Option("--format", help="A text, or a JSON object with scores, for each line.")
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Refuse bytes that are not UTF-8, and lines over the limit of length.")
    ] = False,
    assignments: Annotated[
        list[str] | None, typer.Option("--set", help="search.field=value, as in search.stop_rule=t2t-2017.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Nothing on stderr but errors.")] = False,
) -> None:
    """Translate text by beam search, one line out for each line in, in order."""
    from nmt_cli.errors import UsageError
    from nmt_cli.files import real_path

    options = {
        "beam_size": beam_size,
        "length_penalty": length_penalty and length_penalty.value,
        "alpha": alpha,
        "max_extra": max_extra,
        "min_length": min_length,
        "n_best": n_best,
        "batch_tokens": batch_tokens,
    }
    given = [f"search.{name}={value}" for name, value in options.items() if value is not None]
    source = None if file is None or str(file) == "-" else file
    target = None if output is None or str(output) == "-" else checked_output(output, source)
    folder, search = model_and_search(model, [*(assignments or []), *given], quiet=quiet)
    if target is not None and target.is_relative_to(real_path(folder.path)):
        raise UsageError(f"{output}: lies in the model folder {folder.path}; name another file")
    as_json = wants_json(output_format, n_best=search.n_best)

    from nmt_cli.decoding.streaming import Tally, open_blocks, translate_blocks
    from nmt_cli.decoding.translator import Translator

    tally = Tally()
    with open_blocks(source) as blocks, lines_to(target) as write:
        from nmt_cli.decoding.engine import use_allowed_cores

        use_allowed_cores()
        translator = Translator.of_folder(folder, device=device.value)
        progress = Progress(quiet=quiet)
        progress.start(blocks)
        for translations in translate_blocks(translator, blocks, search, tally, strict=strict):
            first = tally.lines - len(translations) + 1
            write(b"".join(output_line(found, first + i, as_json=as_json) for i, found in enumerate(translations)))
            progress.show(tally)
        progress.end(tally, limit=translator.max_source_length)


def model_and_search(
    model: Path | None, assignments: Sequence[str], *, quiet: bool
) -> tuple[ModelFolder, SearchConfig]:
    """Return the model folder, verified, and the search: the model's defaults with the assignments over them.

    What can be refused without the model is refused before it is opened.

    Raises:
        UsageError: no model named, or a setting that cannot be followed.
        ModelError: no model, or a damaged one.
    """
    import os

    from nmt_cli.cli.output import announce
    from nmt_cli.config import MOST_HYPOTHESES, SearchConfig
    from nmt_cli.errors import UsageError
    from nmt_cli.model_folder import open_model_folder
    from nmt_cli.settings_files import section_from

    # The model's own beam is not known yet, so that here any n_best fits one that is not given.
    section_from(SearchConfig, "search", {"beam_size": MOST_HYPOTHESES}, assignments)
    if model is None:
        named = os.environ.get("NMT_MODEL")
        if not named:
            raise UsageError("no model: give --model FOLDER, or set NMT_MODEL to one; `nmt train` makes them")
        model = Path(named)
        if not quiet:
            announce(f"model: {model} (NMT_MODEL)")
    folder = open_model_folder(model)
    return folder, section_from(SearchConfig, "search", folder.description.search.model_dump(), assignments)


def wants_json(output_format: Format | None, *, n_best: int) -> bool:
    """Say whether answers are JSON lines: when asked for, or when there may be several for a line.

    Raises:
        UsageError: several answers, but text asked for.
    """
    from nmt_cli.errors import UsageError

    if output_format is Format.TEXT and n_best > 1:
        raise UsageError(f"--format text has one translation a line, but n_best is {n_best}; give --format jsonl")
    return output_format is Format.JSONL or n_best > 1


def checked_output(output: Path, source: Path | None) -> Path:
    """Return the file to write, links followed.

    Raises:
        UsageError: it is no plain file, or the input itself.
    """
    from nmt_cli.errors import UsageError
    from nmt_cli.files import real_path, writing_to

    with writing_to(output):
        is_there = output.exists()
    if is_there and not output.is_file():
        raise UsageError(f"{output}: {'a folder' if output.is_dir() else 'no plain file'}; name a file, or use stdout")
    if source is not None and is_there and source.exists() and output.samefile(source):
        raise UsageError(f"{output}: is the input too; name another file")
    return real_path(output)


@contextlib.contextmanager
def lines_to(target: Path | None) -> Iterator[Callable[[bytes], None]]:
    """Give what writes answers: to stdout at once, or to a file that appears when all are there."""
    from nmt_cli.cli.output import flush_results, write_result
    from nmt_cli.files import atomic_file

    if target is None:

        def to_stdout(data: bytes) -> None:
            write_result(data)
            flush_results()

        yield to_stdout
        return
    with atomic_file(target) as stream:

        def to_file(data: bytes) -> None:
            stream.write(data)

        yield to_file


def output_line(translation: Translation, number: int, *, as_json: bool) -> bytes:
    """Return the line for an input: its text, or a record of all candidates."""
    import json

    if not as_json:
        return translation.text.encode("utf-8") + b"\n"
    record = {
        "line": number,
        "source_tokens": translation.source_length,
        "parts": translation.n_parts,
        "translations": [dataclasses.asdict(candidate) for candidate in translation.candidates],
    }
    return json.dumps(record, ensure_ascii=False).encode("utf-8") + b"\n"


class Progress:
    """Remarks on stderr while the work goes on, and at its end."""

    def __init__(self, *, quiet: bool) -> None:
        """Start the clock."""
        self._quiet = quiet
        self._start = self._last = time.monotonic()

    def start(self, blocks: Blocks) -> None:
        """Say on a terminal what is waited for."""
        from nmt_cli.cli.output import announce

        if blocks.is_terminal and not self._quiet:
            announce("reading from the terminal, a sentence a line; Ctrl-D ends it")

    def show(self, tally: Tally) -> None:
        """Show new warnings, and now and then how far the work is."""
        from nmt_cli.cli.output import announce

        warnings, tally.warnings = tally.warnings, []
        if self._quiet:
            return
        for warning in warnings:
            announce(warning)
        now = time.monotonic()
        if now - self._last >= SECONDS_BETWEEN_REMARKS:
            announce(f"{tally.lines:,} lines, {tally.lines / (now - self._start):,.0f} a second")
            self._last = now

    def end(self, tally: Tally, *, limit: int) -> None:
        """Sum up what went wrong."""
        from nmt_cli.cli.output import announce

        for line in tally.summary(limit=limit) if not self._quiet else []:
            announce(line)
