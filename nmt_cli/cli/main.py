"""The program: its commands, and the way from an error to one line and an exit code."""

from __future__ import annotations

import signal
import sys
from types import FrameType
from typing import Annotated, NoReturn

import typer

import nmt_cli
from nmt_cli.cli import average, bpe, prepare, score, train, translate
from nmt_cli.cli.output import announce, print_result
from nmt_cli.errors import NmtError, StoppedError

app = typer.Typer(
    name="nmt",
    help="Translation from raw text to scores: prepare, bpe, train, average, translate, score.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (
    prepare.prepare,
    bpe.bpe,
    train.train,
    average.average,
    translate.translate,
    score.score,
):
    app.command()(command)


def _show_version(asked: bool) -> None:
    if asked:
        print_result(f"nmt {nmt_cli.__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    """Take the options that stand before a command."""


def main() -> NoReturn:
    """Run the program; end with the exit code of what went wrong, or 0."""
    signal.signal(signal.SIGINT, _stop_at_interrupt)
    try:
        app()
    except NmtError as error:
        if str(error):
            announce(f"nmt: {error}")
        sys.exit(error.exit_code)
    sys.exit(0)


def _stop_at_interrupt(_number: int, _frame: FrameType | None) -> NoReturn:
    raise StoppedError("interrupted", exit_code=130)
