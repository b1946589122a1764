"""Trees of the Penn Treebank: reading, writing, cleaning."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from nmt_cli.errors import DataError
from nmt_cli.files import read_lines

ROOT = "TOP"
TRACE = "-NONE-"
_TOKEN = re.compile(r"[()]|[^\s()]+")
_COMMENT = re.compile(r"\s*[*%#;]")
Event = tuple[str, "Tree"]


@dataclass(frozen=True)
class Tree:
    """A constituent with children, or a word under its part-of-speech tag."""

    label: str
    children: tuple[Tree, ...] = ()
    word: str | None = None

    def events(self) -> Iterator[Event]:
        """Yield ("open", node), ("word", node) and ("close", node), depth first; deep trees do no harm."""
        waiting: list[Event] = [("visit", self)]
        while waiting:
            kind, node = waiting.pop()
            if kind == "close":
                yield kind, node
            elif node.word is not None:
                yield "word", node
            else:
                yield "open", node
                waiting.append(("close", node))
                waiting.extend(("visit", child) for child in reversed(node.children))

    def pre_terminals(self) -> list[Tree]:
        """Return the words under their tags, in order."""
        return [node for kind, node in self.events() if kind == "word"]

    @property
    def words(self) -> list[str]:
        """The words, in order."""
        return [node.word or "" for node in self.pre_terminals()]

    @property
    def tags(self) -> list[str]:
        """The part-of-speech tags, in order."""
        return [node.label for node in self.pre_terminals()]

    def __str__(self) -> str:
        """Return the tree on one line."""
        parts = list[str]()
        for kind, node in self.events():
            match kind:
                case "open":
                    parts.append(f" ({node.label}")
                case "word":
                    parts.append(f" ({node.label} {node.word})")
                case _:
                    parts.append(")")
        return "".join(parts).lstrip(" ")


class Builder:
    """Trees from openers, words and closers."""

    def __init__(self) -> None:
        """Begin with nothing open."""
        self.open: list[tuple[str, list[Tree]]] = [("", [])]

    @property
    def depth(self) -> int:
        """How many constituents are open."""
        return len(self.open) - 1

    @property
    def roots(self) -> list[Tree]:
        """What stands outside of all constituents."""
        return self.open[0][1]

    def add(self, node: Tree) -> None:
        """Put a node into the innermost open constituent."""
        self.open[-1][1].append(node)

    def push(self, label: str) -> None:
        """Open a constituent."""
        self.open.append((label, []))

    def pop(self) -> str:
        """Close the innermost open constituent; return its label."""
        label, children = self.open.pop()
        self.add(Tree(label, tuple(children)))
        return label


def read_trees(path: Path) -> list[Tree]:
    """Return the trees of a file: over several lines or one a line, comments between them.

    Raises:
        DataError: brackets that do not close or were not opened, words outside of brackets.
    """
    return list(parse_trees(read_lines(path), where=str(path)))


def parse_trees(lines: Iterable[str], *, where: str) -> Iterator[Tree]:
    """Yield the trees that stand on lines; `where` names them in errors.

    Raises:
        DataError: as `read_trees`.
    """
    builder, words = Builder(), list[str]()
    n_lines, begun = 0, 0
    for number, line in enumerate(lines, start=1):
        n_lines = number
        if not builder.depth and _COMMENT.match(line):
            continue
        tokens = _TOKEN.findall(line)
        for sign in tokens:
            if sign == "(":
                begun = begun if builder.depth else number
                _name(builder, words, f"{where}, line {number}")
                builder.push("")
                words = []
            elif sign == ")":
                if not builder.depth:
                    raise DataError(f"{where}, line {number}: a bracket closes that none has opened")
                _close(builder, words, f"{where}, line {number}")
                words = []
                if not builder.depth:
                    yield builder.roots.pop()
            elif not builder.depth:
                raise DataError(f"{where}, line {number}: {sign[:40]!r} stands outside of brackets")
            else:
                words.append(sign)
    if builder.depth:
        raise DataError(f"{where}, line {n_lines}: {builder.depth} brackets are open at the end, from line {begun}")


def _name(builder: Builder, words: list[str], where: str) -> None:
    """Give the constituent that an opener stands in the label that was read."""
    if len(words) > 1 or (words and (not builder.depth or builder.open[-1][0] or builder.open[-1][1])):
        raise DataError(
            f"{where}: {' '.join(words)[:60]!r} before a bracket; a label or a tag with one word is expected"
        )
    if words:
        builder.open[-1] = (words[0], builder.open[-1][1])


def _close(builder: Builder, words: list[str], where: str) -> None:
    label, children = builder.open[-1]
    if not words:
        builder.pop()
    elif len(words) == 2 and not label and not children:  # noqa: PLR2004
        builder.open.pop()
        builder.add(Tree(words[0], word=words[1]))
    elif len(words) == 1 and not label and not children:
        builder.open[-1] = (words[0], [])
        builder.pop()
    else:
        raise DataError(f"{where}: {' '.join(words)[:60]!r} before a closing bracket; a tag with one word is expected")


def clean(tree: Tree) -> Tree | None:
    """Return a tree without traces, empty constituents, function tags and indices, its root TOP.

    None when no word is left.
    """
    builder = Builder()
    for kind, node in tree.events():
        if kind == "open":
            builder.push(plain_label(node.label))
        elif kind == "word" and node.label != TRACE:
            builder.add(node)
        elif kind == "close":
            label, children = builder.open.pop()
            if children:
                builder.add(Tree(label, tuple(children)))
    if not builder.roots:
        return None
    root = builder.roots[0]
    if root.word is None and root.label in {"", ROOT}:
        return Tree(ROOT, root.children)
    return Tree(ROOT, (root,))


def plain_label(label: str) -> str:
    """Return a label without function tags and indices: NP-SBJ-1 is NP; -LRB- stays."""
    return label if label.startswith(("-", "=")) else re.split("[-=]", label, maxsplit=1)[0]
