"""`nmt score --trees`: labelled bracket F1 in EVALB's figures."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from nmt_cli.cli.output import announce, flush_results, print_result
from nmt_cli.cli.standard_input import lines_of_stdin
from nmt_cli.errors import DataError
from nmt_cli.files import read_lines
from nmt_cli.scoring.evalb import F1Result, SentenceScore, score_corpus, summarise
from nmt_cli.scoring.evalb_parameters import Parameters, read_parameters
from nmt_cli.trees.linear import ANY_TAG, Form, repair
from nmt_cli.trees.tree import TRACE, Tree, parse_trees

HEAD = (
    "  Sent.                        Matched  Bracket   Cross        Correct Tag",
    " ID  Len.  Stat. Recal  Prec.  Bracket gold test Bracket Words  Tags Accracy",
)
RULE = "=" * 76


def print_tree_scores(
    reference: Path,
    hypotheses: Path | None,
    *,
    parameter_file: Path | None,
    word_file: Path | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Print EVALB's table and summary of one file of trees, or of linear strings with their words beside them."""
    parameters = Parameters() if parameter_file is None else read_parameters(parameter_file)
    is_stdin = hypotheses is None or str(hypotheses) == "-"
    name = "standard input" if is_stdin else str(hypotheses)
    lines = lines_of_stdin() if is_stdin else read_lines(Path(name))
    gold = trees_by_line(read_lines(reference), str(reference))
    mended = Counter[str]()
    if word_file is None:
        test = trees_by_line(lines, name)
        n_repaired = None
    else:
        test, repaired = _from_linear(lines, read_lines(word_file), gold, name, word_file)
        mended.update(kind for found in repaired for kind in found)
        n_repaired = sum(map(bool, repaired))
    scores = score_corpus(gold, test, parameters)
    short = [score for score in scores if score.length <= parameters.cutoff_length]
    blocks = {"all": summarise(scores), f"len<={parameters.cutoff_length}": summarise(short)}
    if as_json:
        values: dict[str, object] = {block: dataclasses.asdict(result) for block, result in blocks.items()}
        values |= {} if n_repaired is None else {"repaired": n_repaired, "mended": dict(mended)}
        print_result(json.dumps(values))
        return
    for line in (*_table(scores, blocks["all"]), "=== Summary ===", ""):
        print_result(line)
    for title, result in zip(("All", f"len<={parameters.cutoff_length}"), blocks.values(), strict=True):
        for line in (f"-- {title} --", *_summary(result), ""):
            print_result(line)
    flush_results()
    if n_repaired is not None:
        print_result(f"Repaired sentences        = {n_repaired:6d}")
    if not quiet:
        for number, score in enumerate(scores, start=1):
            if score.problem:
                announce(f"sentence {number}: {score.problem}; it does not count")


def trees_by_line(lines: list[str], name: str) -> list[list[Tree]]:
    """Return the trees of each line: one, none where it is empty, several where the root is missing."""
    return [list(parse_trees([line], where=f"{name}: line {number}")) for number, line in enumerate(lines, start=1)]


def _from_linear(
    lines: list[str], word_lines: list[str], gold: list[list[Tree]], name: str, word_file: Path
) -> tuple[list[list[Tree]], list[list[str]]]:
    """Return trees over the words with the gold tags, and what had to be mended in each."""
    if not len(lines) == len(word_lines) == len(gold):
        raise DataError(
            f"{name}: {len(lines):,} lines, {word_file}: {len(word_lines):,}, and {len(gold):,} gold trees; "
            "they must be parallel"
        )
    trees, mended = list[list[Tree]](), list[list[str]]()
    for number, (line, text, golden) in enumerate(zip(lines, word_lines, gold, strict=True), start=1):
        words = text.split()
        tags = [node.label for tree in golden for node in tree.pre_terminals() if node.label != TRACE]
        if len(tags) != len(words):
            raise DataError(f"{word_file}: line {number}: {len(words)} words, but {len(tags)} in the gold tree")
        done = repair(line, words, tags, form_of(line))
        trees.append([done.tree])
        mended.append(list(done.mended))
    return trees, mended


def form_of(line: str) -> Form:
    """Return the form of a linear string; brackets stand only in one of the two."""
    return "vinyals" if any(token[0] in "()" or token == ANY_TAG for token in line.split()) else "t2t"


def _table(scores: list[SentenceScore], total: F1Result) -> Iterator[str]:
    yield from HEAD
    yield RULE
    for number, score in enumerate(scores, start=1):
        yield (
            f"{number:4d}  {score.length:3d}    {score.status:d}  {score.recall:6.2f} {score.precision:6.2f}   "
            f"{score.matched:3d}    {score.gold:3d}  {score.test:3d}    {score.crossing:3d}   {score.words:4d}  "
            f"{score.correct_tags:4d}   {percent_of(score.correct_tags, score):6.2f}"
        )
    yield RULE
    yield (
        f"                {total.recall:6.2f} {total.precision:6.2f} {total.matched:6d} {total.gold:5d} {total.test:5d}"
        f"  {total.no_crossings:5d}  {total.words:5d} {total.correct_tags:5d}   {total.tagging_accuracy:6.2f}"
    )


def percent_of(tags: int, score: SentenceScore) -> float:
    """Return the tagging accuracy of a sentence, in percent."""
    return 100 * tags / score.words if score.words else 0.0


def _summary(result: F1Result) -> Iterator[str]:
    yield f"Number of sentence        = {result.sentences:6d}"
    yield f"Number of Error sentence  = {result.errors:6d}"
    yield f"Number of Skip  sentence  = {result.skipped:6d}"
    yield f"Number of Valid sentence  = {result.valid:6d}"
    yield f"Bracketing Recall         = {result.recall:6.2f}"
    yield f"Bracketing Precision      = {result.precision:6.2f}"
    yield f"Bracketing FMeasure       = {result.f1:6.2f}"
    yield f"Complete match            = {result.complete_match:6.2f}"
    yield f"Average crossing          = {result.average_crossing:6.2f}"
    yield f"No crossing               = {result.no_crossing:6.2f}"
    yield f"2 or less crossing        = {result.few_crossings:6.2f}"
    yield f"Tagging accuracy          = {result.tagging_accuracy:6.2f}"
