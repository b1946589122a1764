"""Bracket files: what is read, written and cleaned."""

from __future__ import annotations

from pathlib import Path

import pytest

from nmt_cli.errors import DataError
from nmt_cli.trees.tree import Tree, clean, parse_trees, plain_label, read_trees

CAT = Tree("S", (Tree("NP", (Tree("DT", word="A"), Tree("NN", word="cat"))), Tree("VP", (Tree("VBZ", word="sleeps"),))))


def test_a_tree_over_several_lines_between_comments_is_read(tmp_path: Path) -> None:
    path = tmp_path / "cats.mrg"
    path.write_text(
        "*x*x* a header\n\n( (S (NP (DT A)\n   (NN cat) )\n (VP (VBZ sleeps))))\n"
        "(S (NP (DT A) (NN cat)) (VP (VBZ sleeps)))\n"
    )
    assert read_trees(path) == [Tree("", (CAT,)), CAT]


def test_a_tree_is_written_on_one_line() -> None:
    assert str(CAT) == "(S (NP (DT A) (NN cat)) (VP (VBZ sleeps)))"


def test_cleaning_takes_traces_empty_nodes_functions_and_indices_and_names_the_root() -> None:
    subject = "(NP-SBJ-1 (-LRB- -LRB-) (NN cat))"
    line = f"( (S-2 {subject} (VP (VBZ is) (S (NP (-NONE- *-1)) (VP=3 (VBN fed)))(NP (-NONE- *)))))"
    (tree,) = parse_trees([line], where="here")
    assert str(clean(tree)) == "(TOP (S (NP (-LRB- -LRB-) (NN cat)) (VP (VBZ is) (S (VP (VBN fed))))))"


def test_a_tree_of_traces_only_is_nothing() -> None:
    (tree,) = parse_trees(["((S (NP (-NONE- *))))"], where="here")
    assert clean(tree) is None


@pytest.mark.parametrize(("label", "plain"), [("NP-SBJ-1", "NP"), ("NP=2", "NP"), ("-LRB-", "-LRB-"), ("S", "S")])
def test_labels_lose_what_follows_the_first_mark(label: str, plain: str) -> None:
    assert plain_label(label) == plain


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("(S (NN a)", "1 brackets are open"),
        ("(S (NN a)))", "closes that none has opened"),
        ("(S (NN a b))", "a tag with one word"),
        ("word (S (NN a))", "outside of brackets"),
        ("(S (NP (NN a)) b)", "a tag with one word"),
    ],
)
def test_what_is_no_tree_is_refused_in_one_line(line: str, problem: str) -> None:
    with pytest.raises(DataError, match=r"cats\.mrg, line 1") as caught:
        list(parse_trees([line], where="cats.mrg"))
    assert problem in str(caught.value)
