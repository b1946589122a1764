"""What EVALB compares of a tree: words that count, brackets over them, and quotes that may have been mistagged."""

from __future__ import annotations

from dataclasses import dataclass, field

from nmt_cli.scoring.evalb_parameters import Parameters
from nmt_cli.trees.tree import Tree

QUOTES = frozenset({"'", '"', "/"})


@dataclass
class Bracket:
    """A constituent over the words from `start` to before `end`."""

    label: str
    start: int
    end: int = -1


@dataclass
class Quote:
    """A quotation mark, deleted or not."""

    place: int
    """How many words that count stand before it."""
    node: Tree
    bracket: int
    """How many brackets had been opened before it."""
    around: list[int]
    """The brackets that it stands in."""


@dataclass
class Spans:
    """A tree as EVALB sees it."""

    length: int = 0
    """Words, for the cut-off."""
    terminals: list[Tree] = field(default_factory=list)
    brackets: list[Bracket] = field(default_factory=list)
    quotes: list[Quote] = field(default_factory=list)

    def insert(self, quote: Quote) -> None:
        """Let a deleted quotation mark count after all."""
        self.terminals.insert(quote.place, quote.node)
        for later in self.brackets[quote.bracket :]:
            later.start += 1
            later.end += 1
        for place in quote.around:
            self.brackets[place].end += 1


def spans_of(trees: list[Tree], parameters: Parameters) -> Spans:
    """Return what counts of the trees of one line."""
    spans, is_open = Spans(), list[int]()
    for tree in trees:
        for kind, node in tree.events():
            if kind == "open":
                is_open.append(len(spans.brackets))
                spans.brackets.append(Bracket(node.label, len(spans.terminals)))
            elif kind == "close":
                spans.brackets[is_open.pop()].end = len(spans.terminals)
            else:
                spans.length += node.label not in parameters.deleted_for_length
                if node.label in parameters.quotes and node.word in QUOTES:
                    quote = Quote(len(spans.terminals), node, len(spans.brackets), list(is_open))
                    spans.quotes.append(quote)
                if node.label not in parameters.deleted:
                    spans.terminals.append(node)
    return spans


def agree_on_quotes(gold: Spans, test: Spans, parameters: Parameters) -> None:
    """Where only one side deletes a quotation mark by its tag, let it count on both (EVALB's mend of 2006)."""
    for place, quote in enumerate(test.quotes):
        at = quote.place
        for other_place, other in enumerate(gold.quotes):
            if other.place != at or other.node.label == quote.node.label:
                continue
            gold_deletes = other.node.label in parameters.deleted
            test_deletes = quote.node.label in parameters.deleted
            if gold_deletes == test_deletes:
                continue
            side, begin = (gold, other_place) if gold_deletes else (test, place)
            side.insert(side.quotes[begin])
            for later in side.quotes[begin:]:
                later.place += 1


def counted(brackets: list[Bracket], parameters: Parameters) -> list[Bracket]:
    """Return the brackets that count, their labels without function tags."""
    found = list[Bracket]()
    for bracket in brackets:
        label = bracket.label.replace("=", "-").partition("-")[0]
        if bracket.start != bracket.end and not parameters.is_deleted_constituent(label):
            found.append(Bracket(label, bracket.start, bracket.end))
    return found
