"""Linear strings: both forms, the way back, and repair."""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_cli.errors import DataError
from nmt_cli.trees.linear import Form, linearise, parse_linear, repair
from nmt_cli.trees.tree import Tree, clean, parse_trees

FORMS = get_args(Form)
WORDS = st.text(alphabet="abc/-'.", min_size=1, max_size=3)
LEAVES = st.builds(
    lambda tag, word: Tree(tag, word=word), st.sampled_from(["NN", "VBZ", ".", ",", "-LRB-", "XX"]), WORDS
)
NODES = st.recursive(
    LEAVES,
    lambda inner: st.builds(
        lambda label, children: Tree(label, tuple(children)),
        st.sampled_from(["NP", "NP-SBJ-1", "VP", "PRT|ADVP", "S=2"]),
        st.lists(inner, min_size=1, max_size=4),
    ),
    max_leaves=12,
)
TOKENS = st.sampled_from(
    ["(S", "(NP", ")S", ")NP", ")", "(", "((", "XX", "S", "NP", "/S", "/NP", "/", "NN", "(A(B", "junk"]
)


def dog() -> Tree:
    (tree,) = parse_trees(["(TOP (S (NP (NNP John)) (VP (VBZ has) (NP (DT a) (NN dog))) (. .)))"], where="here")
    return tree


def test_both_forms_are_those_of_their_papers() -> None:
    assert linearise(dog(), "vinyals") == "(S (NP XX )NP (VP XX (NP XX XX )NP )VP XX )S"
    assert linearise(dog(), "t2t") == "S NP NNP /NP VP VBZ NP DT NN /NP /VP . /S"


@pytest.mark.parametrize("form", FORMS)
@given(node=NODES)
def test_tree_to_string_to_tree_is_the_identity_after_cleaning(form: Form, node: Tree) -> None:
    tree = clean(node)
    assert tree is not None
    assert parse_linear(linearise(tree, form), tree.words, tree.tags, form) == tree
    assert list(parse_trees([str(tree)], where="here")) == [tree]


@pytest.mark.parametrize("form", FORMS)
@given(tokens=st.lists(TOKENS, max_size=25), words=st.lists(WORDS, max_size=8))
def test_any_string_becomes_a_valid_tree_over_the_right_words(form: Form, tokens: list[str], words: list[str]) -> None:
    tags = [f"T{place}" for place in range(len(words))]
    tree = repair(" ".join(tokens), words, tags, form).tree
    assert (tree.label, tree.words, tree.tags) == ("TOP", words, tags)
    assert len(tree.children) == (1 if words else 0)
    assert all(node.children for kind, node in tree.events() if kind == "open" and words)
    assert list(parse_trees([str(tree)], where="here")) == [tree]


def test_a_string_of_a_tree_is_not_repaired() -> None:
    tree = dog()
    mended = repair(linearise(tree), tree.words, tree.tags)
    assert mended.tree == tree
    assert not mended.is_repaired


@pytest.mark.parametrize(
    ("linear", "expected", "mended"),
    [
        ("(S (NP XX XX", "(TOP (S (NP (A a) (B b))))", {"not closed": 2}),
        ("XX )NP (VP XX )VP", "(TOP (S (NP (A a)) (VP (B b))))", {"closer without opener": 1, "several roots": 1}),
        ("(S (NP XX )VP XX )S", "(TOP (S (NP (A a)) (B b)))", {"closer of another label": 1}),
        ("(S XX XX (NP XX )NP )S", "(TOP (S (A a) (B b)))", {"surplus word": 1, "empty constituent": 1}),
        ("(NP XX )NP", "(TOP (NP (A a) (B b)))", {"word without a place": 1}),
        ("", "(TOP (S (A a) (B b)))", {"word without a place": 2, "no root": 1}),
    ],
)
def test_repair_follows_its_rules(linear: str, expected: str, mended: dict[str, int]) -> None:
    done = repair(linear, ["a", "b"], ["A", "B"])
    assert str(done.tree) == expected
    assert done.mended == mended


def test_very_deep_strings_do_no_harm() -> None:
    assert str(repair("(S " * 5000 + "XX", ["a"], ["A"]).tree).count("(S") == 5000


@pytest.mark.parametrize("linear", ["(S XX )S", "(S XX XX XX )S", "(S XX XX )NP", "(S XX XX", ")S"])
def test_the_strict_way_back_refuses_what_is_no_tree_of_the_words(linear: str) -> None:
    with pytest.raises(DataError):
        parse_linear(linear, ["a", "b"], ["A", "B"])


def test_a_tag_that_reads_as_a_constituent_is_refused_in_the_form_that_cannot_tell() -> None:
    with pytest.raises(DataError, match="use vinyals"):
        linearise(Tree("TOP", (Tree("NP", word="a"),)), "t2t")
