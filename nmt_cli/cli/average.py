"""`nmt average`: checkpoints in, one model out."""

from __future__ import annotations

import enum
from pathlib import Path
from typing import Annotated

import typer

N_AVERAGED = 5


class Store(enum.StrEnum):
    """How weights are kept in the folder."""

    FLOAT32 = "float32"
    FLOAT16 = "float16"
    INT8 = "int8"


def average(
    runs_or_models: Annotated[
        list[Path], typer.Argument(metavar="RUN | MODEL...", help="A run, or the model folders to average.")
    ],
    last: Annotated[
        int | None, typer.Option(min=1, help="Checkpoints of the run, the newest ones. Default: 5.")
    ] = None,
    best: Annotated[
        int | None, typer.Option(min=1, help="Checkpoints of the run, the best by validation, in place of --last.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Model folder to write. Default: models/RUN-avgN or RUN-bestN.")
    ] = None,
    store: Annotated[
        Store, typer.Option(help="Form of the weights in the folder; int8 has a scale a row of a matrix.")
    ] = Store.FLOAT32,
    force: Annotated[bool, typer.Option("--force", help="Replace a complete model folder.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Nothing on stderr.")] = False,
) -> None:
    """Average the weights of the last or best checkpoints of a run, or of models by name, into one model."""
    from nmt_cli.cli.output import announce
    from nmt_cli.errors import UsageError
    from nmt_cli.files import real_path, refuse_existing
    from nmt_cli.model_folder import KIND, MANIFEST
    from nmt_cli.training.averaging import average_models, choose_best_checkpoints, choose_checkpoints

    if last is not None and best is not None:
        raise UsageError(f"--last {last} and --best {best} choose different checkpoints; give one of them")
    first = runs_or_models[0]
    if len(runs_or_models) > 1 or (first / MANIFEST).is_file():
        if out is None:
            raise UsageError("--out is needed where models are named")
        for option, number in (("--last", last), ("--best", best)):
            if number is not None:
                raise UsageError(
                    f"{option} {number} chooses checkpoints of one run, but models are named; leave one of them out"
                )
        paths = runs_or_models
    elif best is not None:
        paths = choose_best_checkpoints(first, best=best)
        out = out or Path("models") / f"{real_path(first).name}-best{best}"
    else:
        last = last or N_AVERAGED
        paths = choose_checkpoints(first, last=last)
        out = out or Path("models") / f"{real_path(first).name}-avg{last}"
    refuse_existing(out, manifest=MANIFEST, kind=KIND, force=force)
    average_models(paths, out, force=force, stored_as=store.value)
    if not quiet:
        announce(f"{out}: the mean of {', '.join(real_path(path).name for path in paths)}")
