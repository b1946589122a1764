"""`nmt score`: translations against references, in named protocols."""

from __future__ import annotations

import enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from nmt_cli.scoring.significance import Method
    from nmt_cli.scoring.systems import Sampling


class Tokeniser(enum.StrEnum):
    """Tokenisers of sacreBLEU, as the command line offers them."""

    V13A = "13a"
    ZH = "zh"
    INTL = "intl"
    CHAR = "char"
    NONE = "none"
    JA_MECAB = "ja-mecab"
    KO_MECAB = "ko-mecab"


class Significance(enum.StrEnum):
    """How chance is judged."""

    BOOTSTRAP = "bootstrap"
    RANDOMISATION = "randomisation"


def score(
    reference: Annotated[
        list[Path] | None,
        typer.Option(help="Reference translations, a line each; given again for more.", show_default=False),
    ] = None,
    hypotheses: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="HYP...",
            help="Translations, a line each, of one system or several; standard input without it, or for -.",
            show_default=False,
        ),
    ] = None,
    target_lang: Annotated[
        str | None,
        typer.Option(help="Language code, for tokenising.", show_default="the ending of the reference's name, else en"),
    ] = None,
    lowercase: Annotated[bool, typer.Option("--lowercase", help="Score without regard to case.")] = False,
    tokenize: Annotated[
        Tokeniser | None, typer.Option(help="sacreBLEU's tokeniser.", show_default="that of the language, mostly 13a")
    ] = None,
    significance: Annotated[
        Significance | None,
        typer.Option(
            help="95 % intervals of the scores, and of several systems each against the first: p by paired bootstrap "
            "or approximate randomisation.",
            show_default=False,
        ),
    ] = None,
    samples: Annotated[
        int | None,
        typer.Option(min=1, max=1_000_000, help="With --significance: samples. Default: 1,000 or 10,000."),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, help="With --significance: of the samples. Default: 12345, as sacreBLEU.")
    ] = None,
    model: Annotated[
        Path | None, typer.Option(help="Model folder: print the log-probability of each translation, in nats.")
    ] = None,
    source: Annotated[Path | None, typer.Option(help="With --model: what was translated, a line each.")] = None,
    trees: Annotated[
        bool, typer.Option("--trees", help="Bracket trees, one a line: labelled F1 in EVALB's figures.")
    ] = False,
    evalb_parameters: Annotated[
        Path | None, typer.Option(help="With --trees: a parameter file of EVALB. Default: as COLLINS.prm.")
    ] = None,
    words: Annotated[
        Path | None,
        typer.Option(help="With --trees: HYP has linear strings, this file their words; what is no tree is repaired."),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON object in place of lines; with --model one a line.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No remarks on stderr.")] = False,
) -> None:
    """Score translations: sacreBLEU with its signature, tokenised BLEU as in older papers, chrF and TER.

    With --model and --source in place of --reference: how probable a model finds each of them.
    """
    given = hypotheses or []
    if sum(str(path) == "-" for path in given) > 1:
        raise typer.BadParameter("standard input can be read once only", param_hint="HYP")
    if trees:
        if reference is None or len(reference) != 1 or len(given) > 1 or model or source or significance or lowercase:
            raise typer.BadParameter("takes one --reference and one HYP, and no options of texts", param_hint="--trees")
        from nmt_cli.cli.score_trees import print_tree_scores

        tree_file = given[0] if given else None
        print_tree_scores(
            reference[0], tree_file, parameter_file=evalb_parameters, word_file=words, as_json=as_json, quiet=quiet
        )
        return
    if evalb_parameters is not None or words is not None:
        hint = "--words" if words else "--evalb-parameters"
        raise typer.BadParameter("is of trees; give --trees too", param_hint=hint)
    if model is not None or source is not None:
        if len(given) > 1:
            raise typer.BadParameter("with --model, one file of translations at a time", param_hint="HYP")
        if significance is not None:
            raise typer.BadParameter("is of scores against references", param_hint="--significance")
        print_log_probs(model, source, given[0] if given else None, reference, as_json=as_json)
        return
    if not reference:
        raise typer.BadParameter("give --reference FILE, or --model FOLDER and --source FILE", param_hint="--reference")

    from nmt_cli.cli.score_text import print_scores

    print_scores(
        reference,
        given,
        target_lang=target_lang,
        tokenize=tokenize.value if tokenize else None,
        lowercase=lowercase,
        sampling=sampling_of(significance, samples=samples, seed=seed, n_systems=len(given)),
        as_json=as_json,
        quiet=quiet,
    )


def sampling_of(
    significance: Significance | None, *, samples: int | None, seed: int | None, n_systems: int
) -> Sampling | None:
    """Return how chance is judged, if it is asked for."""
    from nmt_cli.scoring.significance import N_SAMPLES, SEED
    from nmt_cli.scoring.systems import Sampling

    if significance is None:
        if samples is not None or seed is not None:
            raise typer.BadParameter("name --significance too", param_hint="--seed" if samples is None else "--samples")
        return None
    if significance is Significance.RANDOMISATION and n_systems < 2:  # noqa: PLR2004
        raise typer.BadParameter("randomisation is between systems: name two files or more", param_hint="HYP")
    method: Method = "bootstrap" if significance is Significance.BOOTSTRAP else "randomisation"
    return Sampling(method, samples or N_SAMPLES[method], SEED if seed is None else seed)


def print_log_probs(
    model: Path | None, source: Path | None, target: Path | None, reference: list[Path] | None, *, as_json: bool
) -> None:
    """Print what a model makes of each given translation, a line each."""
    import contextlib
    import itertools
    import json
    import math

    from nmt_cli.cli.output import flush_results, write_result
    from nmt_cli.cli.standard_input import stdin
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
    translator = Translator.load(model, engine="torch")
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
