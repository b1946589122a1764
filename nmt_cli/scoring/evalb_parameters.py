"""Parameter files of EVALB (Sekine and Collins); COLLINS.prm is the default."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from nmt_cli.errors import DataError
from nmt_cli.files import read_lines

Pairs = frozenset[frozenset[str]]
_NUMBERS = {"DEBUG": "debug", "MAX_ERROR": "max_errors", "CUTOFF_LEN": "cutoff_length", "LABELED": "labelled"}
_LABELS = {
    "DELETE_LABEL": "deleted",
    "DELETE_LABEL_FOR_LENGTH": "deleted_for_length",
    "QUOTE_LABEL": "quotes",
}
_PAIRS = {"EQ_LABEL": "equal_labels", "EQ_WORD": "equal_words"}
_SHORTEST = 3


@dataclass(frozen=True)
class Parameters:
    """What EVALB follows; the defaults are those of COLLINS.prm."""

    debug: int = 0
    max_errors: int = 10
    cutoff_length: int = 40
    labelled: int = 1
    deleted: frozenset[str] = frozenset({"TOP", "-NONE-", ",", ":", "``", "''", "."})
    deleted_for_length: frozenset[str] = frozenset({"-NONE-"})
    quotes: frozenset[str] = frozenset()
    equal_labels: Pairs = field(default=frozenset({frozenset({"ADVP", "PRT"})}))
    equal_words: Pairs = frozenset()

    def same_label(self, one: str, other: str) -> bool:
        """Tell whether two labels count as one."""
        return one == other or frozenset({one, other}) in self.equal_labels

    def same_word(self, one: str, other: str) -> bool:
        """Tell whether two words count as one."""
        return one == other or frozenset({one, other}) in self.equal_words

    def is_deleted_constituent(self, label: str) -> bool:
        """Tell whether the brackets of a constituent do not count."""
        return any(self.same_label(label, deleted) for deleted in self.deleted)


def read_parameters(path: Path) -> Parameters:
    """Return the parameters of a file; labels that it does not name are not deleted.

    Raises:
        DataError: unknown names or wrong values, all of them at once.
    """
    numbers, problems = dict[str, int](), list[str]()
    labels = {name: set[str]() for name in _LABELS.values()}
    pairs = {name: set[frozenset[str]]() for name in _PAIRS.values()}
    for number, line in enumerate(read_lines(path), start=1):
        if line.startswith("#") or len(line.rstrip()) < _SHORTEST:
            continue
        name, *values = line.split()
        if name in _NUMBERS and len(values) == 1 and values[0].isdecimal():
            numbers[_NUMBERS[name]] = int(values[0])
        elif name in _LABELS and len(values) == 1:
            labels[_LABELS[name]].add(values[0])
        elif name in _PAIRS and len(values) == 2:  # noqa: PLR2004
            pairs[_PAIRS[name]].add(frozenset(values))
        elif name in {**_NUMBERS, **_LABELS, **_PAIRS}:
            wanted = "a number" if name in _NUMBERS else "one label" if name in _LABELS else "two values"
            problems.append(f"line {number}: {name} takes {wanted}, not {' '.join(values)!r}")
        else:
            problems.append(f"line {number}: unknown parameter {name!r}")
    if problems:
        raise DataError(f"{path}: {'; '.join(problems)}")
    return Parameters(
        debug=numbers.get("debug", 0),
        max_errors=numbers.get("max_errors", 10),
        cutoff_length=numbers.get("cutoff_length", 40),
        labelled=numbers.get("labelled", 1),
        deleted=frozenset(labels["deleted"]),
        deleted_for_length=frozenset(labels["deleted_for_length"]),
        quotes=frozenset(labels["quotes"]),
        equal_labels=frozenset(pairs["equal_labels"]),
        equal_words=frozenset(pairs["equal_words"]),
    )
