"""`nmt translate`: a line out for each line in."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nmt_cli.cli.names import ComputeType, Device, EngineKind, Format, Penalty

if TYPE_CHECKING:
    from nmt_cli.config import SearchConfig
    from nmt_cli.decoding.engine_choice import EngineChoice
    from nmt_cli.model_folder import ModelFolder


def translate(
    file: Annotated[
        Path | None,
        typer.Argument(help="Text, a sentence a line, packed or plain; standard input without it, or for -."),
    ] = None,
    model: Annotated[
        list[Path] | None,
        typer.Option(help="Model folder or checkpoint; several: an ensemble. Default: $NMT_MODEL, else built in."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option(help="File to write, complete or not at all. Default, and for -: stdout.")
    ] = None,
    going_on: Annotated[
        bool, typer.Option("--continue", help="Go on with an --output that was left unfinished; start it if none was.")
    ] = False,
    beam_size: Annotated[int | None, typer.Option(help="Hypotheses kept a step. Default: the model's.")] = None,
    length_penalty: Annotated[
        Penalty | None,
        typer.Option(
            help="Score is log-probability over ((5+n)/6)^alpha, n^alpha or 1; wu-rescored: what length finds, by wu."
        ),
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
    engine: Annotated[
        EngineKind, typer.Option(help="auto: the fastest that can do exactly what is asked for.")
    ] = EngineKind.AUTO,
    compute_type: Annotated[
        ComputeType, typer.Option(help="Number format; auto: what the weights are stored in.")
    ] = ComputeType.AUTO,
    device: Annotated[Device, typer.Option(help="auto: a GPU where there is one.")] = Device.AUTO,
    output_format: Annotated[
        Format | None, typer.Option("--format", help="A text, or a JSON object with scores, for each line.")
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Refuse bytes that are not UTF-8, and lines over the limit of length.")
    ] = False,
    prefix: Annotated[
        Path | None, typer.Option(help="File with what each translation begins with, a line for each of the input's.")
    ] = None,
    assignments: Annotated[
        list[str] | None, typer.Option("--set", help="search.field=value, as in search.stop_rule=t2t-2017.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Nothing on stderr but errors.")] = False,
) -> None:
    """Translate text by beam search, one line out for each line in, in order."""
    from nmt_cli.cli.answers import answers_to, checked_output, output_lines
    from nmt_cli.cli.output import announce
    from nmt_cli.cli.progress import Progress
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
    target = None if output is None or str(output) == "-" else checked_output(output, source, going_on=going_on)
    if going_on and target is None:
        raise UsageError("--continue: goes on with a file; name it by --output")
    folders, search = models_and_search(model or [], [*(assignments or []), *given], quiet=quiet)
    for folder in folders:
        if target is not None and target.is_relative_to(real_path(folder.path)):
            raise UsageError(f"{output}: lies in the model folder {folder.path}; name another file")
    as_json = wants_json(output_format, n_best=search.n_best)

    from nmt_cli.decoding.engine_choice import choose_engine
    from nmt_cli.decoding.prefixes import open_prefixes
    from nmt_cli.decoding.streaming import Tally, open_blocks, translate_blocks
    from nmt_cli.decoding.translator import Translator

    choice = choose_engine(
        folders,
        search,
        engine=engine.value,
        device=device.value,
        compute_type=compute_type.value,
        has_prefixes=prefix is not None,
    )
    tally = Tally()
    terms = terms_of(folders, search, choice, as_json=as_json)
    if prefix is not None:
        terms["prefix"] = digest_of_prefixes(prefix)
    with (
        open_prefixes(prefix) as prefixes,
        open_blocks(source) as whole,
        answers_to(target, terms, whole, tally) as (blocks, write),
        Progress(whole, quiet=quiet) as progress,
    ):
        if choice.name == "torch":
            from nmt_cli.decoding.engine import use_allowed_cores

            use_allowed_cores()
        translator = Translator.of_folder(*folders, choice=choice)
        is_told = quiet or engine is not EngineKind.AUTO
        for translations in translate_blocks(translator, blocks, search, tally, strict=strict, prefixes=prefixes):
            if not is_told:
                announce(f"engine: {translator.engine}")
                is_told = True
            write(output_lines(translations, first=tally.lines - len(translations) + 1, as_json=as_json))
            progress.show(tally)
        progress.end(tally, limit=translator.max_source_length)


def digest_of_prefixes(prefix: Path) -> str:
    """Return the beginning of the SHA-256 of a file.

    Raises:
        DataError: it cannot be read.
    """
    import hashlib

    from nmt_cli.files import open_for_reading

    with open_for_reading(prefix) as stream:
        digest = hashlib.sha256()
        for line in stream:
            digest.update(line)
        return digest.hexdigest()[:12]


def terms_of(
    folders: Sequence[ModelFolder], search: SearchConfig, choice: EngineChoice, *, as_json: bool
) -> dict[str, object]:
    """Return what decides the bytes of an output, its input aside."""
    from nmt_cli.files import sha256_of_json

    return {
        "model": " ".join(sha256_of_json(dict(folder.digests))[:12] for folder in folders),
        "format": Format.JSONL.value if as_json else Format.TEXT.value,
        "engine": choice.name,
        "compute_type": choice.compute_type,
        "device": choice.device,
        **{f"search.{name}": value for name, value in search.model_dump().items()},
    }


def models_and_search(
    models: Sequence[Path], assignments: Sequence[str], *, quiet: bool
) -> tuple[list[ModelFolder], SearchConfig]:
    """Return the model folders, verified, and the search: the first model's defaults with the assignments over them.

    What can be refused without the model is refused before it is opened.

    Raises:
        UsageError: a setting that cannot be followed.
        ModelError: no model, or a damaged one.
    """
    import os

    from nmt_cli.builtin import builtin_model
    from nmt_cli.cli.output import announce
    from nmt_cli.config import MOST_HYPOTHESES, SearchConfig
    from nmt_cli.model_folder import open_model_folder
    from nmt_cli.settings_files import section_from

    # The model's own beam is not known yet, so that here any n_best fits one that is not given.
    section_from(SearchConfig, "search", {"beam_size": MOST_HYPOTHESES}, assignments)
    if not models:
        named = os.environ.get("NMT_MODEL")
        models = [Path(named) if named else builtin_model()]
        if not quiet:
            builtin = "the built-in one, English to German; --model names another"
            announce(f"model: {named} (NMT_MODEL)" if named else f"model: {builtin}")
    folders = [open_model_folder(model) for model in models]
    return folders, section_from(SearchConfig, "search", folders[0].description.search.model_dump(), assignments)


def wants_json(output_format: Format | None, *, n_best: int) -> bool:
    """Say whether answers are JSON lines: when asked for, or when there may be several for a line.

    Raises:
        UsageError: several answers, but text asked for.
    """
    from nmt_cli.errors import UsageError

    if output_format is Format.TEXT and n_best > 1:
        raise UsageError(f"--format text has one translation a line, but n_best is {n_best}; give --format jsonl")
    return output_format is Format.JSONL or n_best > 1
