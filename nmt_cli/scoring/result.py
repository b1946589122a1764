"""A score that carries the way it was measured."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from nmt_cli.errors import DataError


@dataclass(frozen=True, kw_only=True)
class MetricResult:
    """A figure, what was done to the text before it, and the signature to cite it with."""

    key: str
    """Name for programs, unique among the results of a run."""
    name: str
    score: float
    """On the scale of 0 to 100 that is usual for it; TER may be above."""
    protocol: str
    signature: str

    def __str__(self) -> str:
        """Return the figure as it may be quoted: never without protocol and signature."""
        return f"{self.name} {self.score:.2f}  {self.protocol}  [{self.signature}]"

    def as_json(self) -> dict[str, object]:
        """Return all fields but the key, ready for JSON."""
        return {name: value for name, value in dataclasses.asdict(self).items() if name != "key"}


def check_parallel(hypotheses: Sequence[str], references: Mapping[str, Sequence[str]], *, name: str) -> None:
    """See that there is something to score, and a line of every reference for each hypothesis.

    Raises:
        DataError: with the names and both counts.
    """
    if not references:
        raise DataError(f"{name}: no reference to score it against; give at least one")
    for reference_name, reference in references.items():
        if len(hypotheses) != len(reference):
            raise DataError(
                f"{name}: {len(hypotheses):,} lines, but {reference_name}: {len(reference):,}; they must be parallel"
            )
    if not hypotheses:
        raise DataError(f"{name} and {', '.join(references)}: no lines (0 and 0); there is nothing to score")
