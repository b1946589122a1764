"""`nmt report`: a run held against the paper."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer


class Against(enum.StrEnum):
    """The paper's translation models."""

    BASE = "base"
    BIG = "big"


def report(
    run: Annotated[Path, typer.Argument(help="A run of nmt train.")],
    model: Annotated[
        Path | None, typer.Option(help="The model that was scored, as nmt average wrote it: what it is the mean of.")
    ] = None,
    scores: Annotated[
        Path | None, typer.Option(help="What nmt score --json printed for one system, to stand beside table 2.")
    ] = None,
    data: Annotated[
        list[Path] | None,
        typer.Option(
            help="Folder that the run was trained on, to be verified and named to its sources; may be given often."
        ),
    ] = None,
    against: Annotated[
        Against | None,
        typer.Option(help="Model of the paper.", show_default="the one that fewer settings differ from"),
    ] = None,
    sustained_tflops: Annotated[
        float | None,
        typer.Option(
            min=1e-6,
            help="Rate of one device in TFLOP/s, for the cost as the paper counts it. "
            "Default: machine.sustained_tflops of the run.",
        ),
    ] = None,
    html: Annotated[Path | None, typer.Option(help="Write the report as a page to this file too.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object in place of lines.")] = False,
) -> None:
    """Hold a run against the paper: settings, sizes, averaging, scores, cost and digests, line by line."""
    import json

    from nmt_cli.cli.output import print_result
    from nmt_cli.files import atomic_file, real_path
    from nmt_cli.views.report_forms import as_html, as_text_lines
    from nmt_cli.views.report_forms import as_json as as_json_object
    from nmt_cli.views.run_facts import facts_of
    from nmt_cli.views.run_report import report_of

    found = report_of(
        facts_of(run, model=model, data=data or []),
        against=None if against is None else ("base" if against is Against.BASE else "big"),
        scores=None if scores is None else read_scores(scores),
        sustained_tflops=sustained_tflops,
    )
    if html is not None:
        with atomic_file(real_path(html)) as stream:
            stream.write(as_html(found).encode("utf-8"))
    if as_json:
        print_result(json.dumps(as_json_object(found), ensure_ascii=False))
        return
    for line in as_text_lines(found):
        print_result(line)


def read_scores(path: Path) -> Mapping[str, Any]:
    """Return the scores in a file of `nmt score --json`.

    Raises:
        DataError: it is something else.
    """
    from nmt_cli.errors import DataError
    from nmt_cli.files import read_json
    from nmt_cli.views.run_report import scores_in

    found = scores_in(read_json(path))
    if found is None:
        raise DataError(f"{path}: holds no scores of one system; write it with nmt score --json")
    return found
