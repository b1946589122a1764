"""`nmt bpe`: subwords learned on the train split, every split encoded."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def bpe(
    data: Annotated[Path, typer.Argument(help="A folder written by `nmt prepare`.", show_default=False)],
    vocab_size: Annotated[
        int | None, typer.Option(help="Pieces to learn, 259 control and byte pieces among them.", show_default=False)
    ] = None,
    separate: Annotated[bool, typer.Option("--separate", help="A vocabulary a side, each of --vocab-size.")] = False,
    target_vocab_size: Annotated[
        int | None, typer.Option(help="Pieces of the target side, where it has its own.", show_default=False)
    ] = None,
    algorithm: Annotated[str | None, typer.Option(help="bpe or unigram. [default: bpe]", show_default=False)] = None,
    model: Annotated[
        Path | None, typer.Option(help="Encode with the subwords of this model or encoded corpus; nothing is learned.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Folder to write. Default: DATA/pieces.")] = None,
    assignments: Annotated[
        list[str] | None, typer.Option("--set", help="section.field=value, as in subwords.character_coverage=1.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a complete folder of pieces.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress on stderr.")] = False,
) -> None:
    """Learn subwords on the train split and encode every split with them."""
    from nmt_cli.cli.output import announce
    from nmt_cli.config import SubwordConfig
    from nmt_cli.corpora.data_folder import open_data_folder
    from nmt_cli.errors import UsageError
    from nmt_cli.settings_files import section_from
    from nmt_cli.subwords.encoding import encode_corpus

    if (vocab_size is None) == (model is None):
        raise UsageError("give either --vocab-size, to learn subwords, or --model, to use those of a model or corpus")
    if model is not None and (separate or target_vocab_size is not None or algorithm or assignments):
        raise UsageError(
            f"--model {model}: its subwords are used as they are; "
            "leave out --separate, --target-vocab-size, --algorithm and --set"
        )
    config = None
    if vocab_size is not None:
        target = target_vocab_size if target_vocab_size is not None else vocab_size if separate else None
        values = {"vocab_size": vocab_size, "target_vocab_size": target, "algorithm": algorithm or "bpe"}
        config = section_from(SubwordConfig, "subwords", values, assignments or [])
    report = encode_corpus(open_data_folder(data), out or data / "pieces", config, model=model, force=force)
    if quiet:
        return
    if config is not None and report.source_vocab_size < config.vocab_size:
        announce(f"the text has only {report.source_vocab_size:,} pieces to give, not {config.vocab_size:,}")
    sizes = sorted({report.source_vocab_size, report.target_vocab_size})
    train = report.tokens["train"]
    announce(
        f"{report.folder}: vocabulary {' and '.join(f'{size:,}' for size in sizes)}, "
        f"train {train['source']:,} source and {train['target']:,} target tokens"
    )
