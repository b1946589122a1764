"""Trees as strings, in both usual forms, and back; strings that are no trees are repaired.

    vinyals   (S (NP XX )NP (VP XX (NP XX XX )NP )VP XX )S     Vinyals et al. 2015: tags are XX
    t2t       S NP NNP /NP VP VBZ NP DT NN /NP /VP . /S        tensor2tensor: tags are kept

The root TOP is left out, and so are the words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from nmt_cli.errors import DataError
from nmt_cli.trees.tree import ROOT, Builder, Tree

Form = Literal["vinyals", "t2t"]
Kind = Literal["open", "close", "word"]
ANY_TAG = "XX"
NO_LABEL = "X"
CONSTITUENTS = frozenset(
    {"ADJP", "ADVP", "CONJP", "FRAG", "INTJ", "LST", "NAC", "NP", "NX", "PP", "PRN", "PRT", "QP", "RRC"}
    | {"S", "SBAR", "SBARQ", "SINV", "SQ", "TOP", "UCP", "VP", "WHADJP", "WHADVP", "WHNP", "WHPP", "X"}
)
"""Labels of the Penn Treebank; in the form t2t every other opener is a tag."""


def linearise(tree: Tree, form: Form = "vinyals") -> str:
    """Return the string of a clean tree.

    Raises:
        DataError: the form cannot tell one of its constituents from a tag.
    """
    parts = list[str]()
    for kind, node in tree.events():
        if node is tree and node.label == ROOT and node.word is None:
            continue
        if form == "vinyals":
            parts.append({"open": f"({node.label}", "close": f"){node.label}"}.get(kind, ANY_TAG))
            continue
        if (kind == "word") == is_constituent(node.label):
            what = "tag" if kind == "word" else "constituent"
            raise DataError(f"{what} {node.label!r}: the form t2t cannot tell it from the other kind; use vinyals")
        parts.append(f"/{node.label}" if kind == "close" else node.label)
    return " ".join(parts)


def is_constituent(label: str) -> bool:
    """Tell whether the form t2t takes a label for a constituent's; PRT|ADVP is one."""
    return label.partition("|")[0] in CONSTITUENTS


def read_token(token: str, form: Form) -> tuple[Kind, str]:
    """Return what a token of a linear string does, and its label."""
    kind: Kind = "word"
    label = token
    if form == "vinyals" and token[0] in "()":
        kind, label = ("open" if token[0] == "(" else "close"), token[1:]
    elif form == "t2t" and token[0] == "/" and (len(token) == 1 or is_constituent(token[1:])):
        kind, label = "close", token[1:]
    elif form == "t2t" and is_constituent(token):
        kind = "open"
    return kind, label.replace("(", "").replace(")", "") or NO_LABEL


def parse_linear(linear: str, words: Sequence[str], tags: Sequence[str], form: Form = "vinyals") -> Tree:
    """Return the tree of a string of `linearise`, given its words and tags.

    Raises:
        DataError: the string is no such one, or is of another number of words.
    """
    _refuse_unequal(words, tags)
    builder, waiting = Builder(), list(zip(words, tags, strict=True))[::-1]
    for place, token in enumerate(linear.split(), start=1):
        kind, label = read_token(token, form)
        if kind == "open":
            builder.push(label)
        elif kind == "word":
            if not waiting:
                raise DataError(f"token {place}, {token!r}: a word more than the {len(words)} that are given")
            word, tag = waiting.pop()
            builder.add(Tree(tag, word=word))
        elif not builder.depth or builder.open[-1][0] != label:
            raise DataError(f"token {place}, {token!r}: closes a constituent that is not the innermost open one")
        else:
            builder.pop()
    if builder.depth or waiting:
        raise DataError(f"{builder.depth} constituents are open and {len(waiting)} words are left at the end")
    return Tree(ROOT, tuple(builder.roots))


@dataclass(frozen=True)
class Repaired:
    """A valid tree, and what had to be mended."""

    tree: Tree
    mended: Counter[str]

    @property
    def is_repaired(self) -> bool:
        """Whether the string was no tree over the words."""
        return bool(self.mended)


def repair(linear: str, words: Sequence[str], tags: Sequence[str], form: Form = "vinyals") -> Repaired:
    """Return a tree over exactly the words, under their given tags, whatever the string is.

    A closer closes the innermost constituent whatever its label; with nothing open it makes an opener at the
    very front; what is open at the end is closed. Surplus places for words are dropped, words without a place
    go to the root, constituents without words vanish, several roots come under an S.
    """
    _refuse_unequal(words, tags)
    mended, builder = Counter[str](), Builder()
    waiting = [Tree(tag, word=word) for word, tag in zip(words, tags, strict=True)][::-1]
    for token in linear.split():
        kind, label = read_token(token, form)
        if kind == "open":
            builder.push(label)
        elif kind == "word" and waiting:
            builder.add(waiting.pop())
        elif kind == "word":
            mended["surplus word"] += 1
        elif builder.depth:
            mended["closer of another label"] += builder.open[-1][0] != label
            _pop(builder, mended)
        else:
            mended["closer without opener"] += 1
            builder.open.insert(0, ("", []))
            builder.open[1] = (label, builder.open[1][1])
            _pop(builder, mended)
    mended["not closed"] += builder.depth
    while builder.depth:
        _pop(builder, mended)
    mended["word without a place"] += len(waiting)
    return Repaired(Tree(ROOT, _under_one_root(builder.roots, waiting[::-1], mended)), +mended)


def _pop(builder: Builder, mended: Counter[str]) -> None:
    """Close a constituent; one without words vanishes."""
    if builder.open[-1][1]:
        builder.pop()
    else:
        builder.open.pop()
        mended["empty constituent"] += 1


def _under_one_root(roots: Sequence[Tree], left: Sequence[Tree], mended: Counter[str]) -> tuple[Tree, ...]:
    if not roots and not left:
        return ()
    if len(roots) == 1 and (roots[0].word is None or not left):
        root = roots[0]
        return (Tree(root.label, root.children + tuple(left)),) if left else (root,)
    mended["no root" if not roots else "several roots"] += 1
    return (Tree("S", (*roots, *left)),)


def _refuse_unequal(words: Sequence[str], tags: Sequence[str]) -> None:
    if len(words) != len(tags):
        raise DataError(f"{len(words)} words, but {len(tags)} tags; each word has one")
