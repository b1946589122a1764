"""The program: its commands, and the way from an error to one line and an exit code."""

from __future__ import annotations

import errno
import signal
import sys
from types import FrameType
from typing import Annotated, NoReturn

import typer

import nmt_cli
from nmt_cli.cli import average, bpe, export, prepare, report, score, train, translate
from nmt_cli.cli.output import announce, flush_results, print_result, results_are_lost
from nmt_cli.errors import NmtError, StoppedError, UsageError
from nmt_cli.files import DISK_REFUSES

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
    export.export,
    report.report,
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


STOPS = {signal.SIGINT: ("interrupted", 130), signal.SIGTERM: ("terminated", 143)}
NAME_IS_WRONG = frozenset({errno.ENAMETOOLONG, errno.ELOOP, errno.EACCES})


def main() -> NoReturn:
    """Run the program; end with the exit code of what went wrong, or 0."""
    for number in STOPS:
        signal.signal(number, _stop)
    try:
        _run()
    except NmtError as error:
        if str(error):
            announce(f"nmt: {error}")
        sys.exit(error.exit_code)
    sys.exit(0)


def _run() -> None:
    try:
        app()
    except OSError as error:
        if error.filename is None and error.errno in DISK_REFUSES:
            results_are_lost(error)  # the help, which Typer writes past `print_result`
        # Even to ask whether a file exists fails for some names.
        if error.filename is not None and error.errno in NAME_IS_WRONG:
            raise UsageError(f"{error.filename}: cannot be used ({error.strerror})") from None
        raise
    except SystemExit as end:
        if not end.code and getattr(sys, "stdout", None) is not None:
            flush_results()
        raise


def _stop(number: int, _frame: FrameType | None) -> NoReturn:
    said, exit_code = STOPS[signal.Signals(number)]
    raise StoppedError(said, exit_code=exit_code)
