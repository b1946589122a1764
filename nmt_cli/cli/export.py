"""`nmt export`: a model in the form of another program."""

from __future__ import annotations

import enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nmt_cli.cli.names import ComputeType

if TYPE_CHECKING:
    from nmt_cli.model_folder import ModelFolder


class Form(enum.StrEnum):
    """Programs that take our models."""

    CTRANSLATE2 = "ctranslate2"
    HUGGINGFACE = "huggingface"


def export(
    model: Annotated[Path, typer.Argument(help="Model folder, or a run's checkpoint.")],
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder to write, complete or not at all.")],
    to: Annotated[Form, typer.Option(help="What loads it: CTranslate2, or MarianMT of Hugging Face's transformers.")],
    compute_type: Annotated[
        ComputeType, typer.Option(help="Form of the weights, for ctranslate2; auto: what they are stored in.")
    ] = ComputeType.AUTO,
    check: Annotated[
        Path | None,
        typer.Option(help="Text to check it on, in the source language, 1,000 lines of it. Default: a few of our own."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a folder of this kind.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Nothing on stderr but errors.")] = False,
) -> None:
    """Write a model for another program, and see that it answers there as it does here."""
    from nmt_cli.cli.output import announce
    from nmt_cli.decoding.exporting import lines_to_check
    from nmt_cli.errors import UsageError
    from nmt_cli.files import real_path
    from nmt_cli.model_folder import open_model_folder

    if to is Form.HUGGINGFACE and compute_type is not ComputeType.AUTO:
        raise UsageError(f"--compute-type {compute_type.value}: --to huggingface writes float32; leave it out")
    opened = open_model_folder(model)
    if real_path(folder).is_relative_to(real_path(model)):
        raise UsageError(f"{folder}: lies in the model folder {model}; name another place")
    lines = lines_to_check(check)

    from nmt_cli.decoding.engine import use_allowed_cores

    use_allowed_cores()
    write = _for_ctranslate2 if to is Form.CTRANSLATE2 else _for_huggingface
    said = write(opened, folder, lines, compute_type, force=force)
    if not quiet:
        announce(f"{folder}: {said}")


def _for_ctranslate2(
    model: ModelFolder, target: Path, lines: list[str], compute_type: ComputeType, *, force: bool
) -> str:
    from nmt_cli.decoding.export_ctranslate2 import export_ctranslate2

    stored_as: str = model.description.stored_as
    form = stored_as if compute_type is ComputeType.AUTO else compute_type.value
    found = export_ctranslate2(model, target, form=form, lines=lines, force=force)
    return (
        f"for CTranslate2, weights in {form}; {found.same_by_beam} of {found.checked} lines as by torch, "
        f"log-probabilities {found.apart_per_piece:.2g} nats a piece apart"
    )


def _for_huggingface(
    model: ModelFolder, target: Path, lines: list[str], _compute_type: ComputeType, *, force: bool
) -> str:
    from nmt_cli.decoding.export_huggingface import export_huggingface

    found = export_huggingface(model, target, lines=lines, force=force)
    return f"MarianMT; log-probabilities of {found.checked} lines at most {found.apart:.2g} nats apart"
