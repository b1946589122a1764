"""`nmt prepare`: parallel text in, a clean and split data folder out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

HeldOut = Path | None


def prepare(
    name: Annotated[
        str | None, typer.Argument(help="A corpus of the catalogue, see --list; none for files of your own.")
    ] = None,
    from_: Annotated[
        Path | None,
        typer.Option(
            "--from",
            help="Folder with the archives of a catalogued corpus, or the files in them; nothing is fetched.",
        ),
    ] = None,
    source: Annotated[
        Path | None,
        typer.Option(
            help="Source sentences, one a line; .gz, .bz2, .xz, .zst too. Without --target: TSV of two columns."
        ),
    ] = None,
    target: Annotated[Path | None, typer.Option(help="Target sentences, aligned with --source by line.")] = None,
    source_lang: Annotated[str | None, typer.Option(help="Language code of the source, such as en.")] = None,
    target_lang: Annotated[str | None, typer.Option(help="Language code of the target, such as de.")] = None,
    valid_source: Annotated[
        HeldOut, typer.Option(help="Validation sentences; every line is kept. Default: held out of --source.")
    ] = None,
    valid_target: Annotated[HeldOut, typer.Option(help="Their translations.")] = None,
    test_source: Annotated[
        HeldOut, typer.Option(help="Test sentences. Default: held out of --source, unless --valid-source is given.")
    ] = None,
    test_target: Annotated[HeldOut, typer.Option(help="Their translations.")] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder to write. Default: data/NAME, or data/STEM-en-de for files of your own.")
    ] = None,
    lowercase: Annotated[bool, typer.Option("--lowercase", help="Lower-case both sides; cannot be undone.")] = False,
    moses: Annotated[
        bool,
        typer.Option("--moses", help="Moses tokens on both sides (European languages); `nmt translate` undoes them."),
    ] = False,
    assignments: Annotated[
        list[str] | None,
        typer.Option("--set", help="section.field=value, as in cleaning.max_words=100 or text.nfc=false."),
    ] = None,
    list_: Annotated[bool, typer.Option("--list", help="Print the names of the catalogue and stop.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace a complete data folder, pieces in it too.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Nothing on stderr; report.json has it all.")] = False,
) -> None:
    """Clean aligned text, hold out validation and test sentences, and report what was dropped and why."""
    from nmt_cli.cli.output import announce, print_result
    from nmt_cli.corpora import catalogue
    from nmt_cli.corpora.own_files import corpus_files, default_folder, languages_of
    from nmt_cli.corpora.preparing import prepare_files, prepare_settings
    from nmt_cli.errors import UsageError

    if list_:
        for known, description in catalogue.catalogue().items():
            print_result(f"{known}  {description}")
        return
    recipe = None if name is None else catalogue.recipe_of(name)
    settings = prepare_settings(lowercase=lowercase, moses=moses, assignments=assignments or [], recipe=recipe)
    tell = (lambda _: None) if quiet else announce
    own = [path for path in (source, target, valid_source, valid_target, test_source, test_target) if path]
    if name is not None:
        if own or source_lang or target_lang:
            raise UsageError(f"{name!r} names a corpus with files of its own; give either a name or --source")
        folder = out or Path("data") / name
        done = catalogue.prepare_catalogued(name, folder, settings, folder=from_, force=force, tell=tell)
    else:
        if from_:
            raise UsageError(f"--from {from_}: is for a corpus of the catalogue; name it, or give --source alone")
        files = corpus_files((source, target), (valid_source, valid_target), (test_source, test_target))
        languages = languages_of(source_lang, target_lang)
        done = prepare_files(files, out or default_folder(files, languages), languages, settings, force=force)
    if not quiet:
        for line in done.summary():
            announce(line)
