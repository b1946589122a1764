"""What `prepare` tells about its work: `report.json`, and a summary for the screen."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from nmt_cli.config import CleaningConfig
from nmt_cli.corpora.hold_out import AT_MOST_A, shares_a_sentence, wanted_sizes
from nmt_cli.corpora.keys import PairKeys, Words
from nmt_cli.files import visible

EXAMPLES = 5
EXAMPLE_CHARACTERS = 300
OVERLAP = "overlap_with_held_out"
PERCENTILES = (5, 25, 50, 75, 95, 99)


@dataclass
class Dropped:
    """Pairs that were left out, counted by reason, the first few of each reason shown."""

    counts: Counter[str] = field(default_factory=Counter)
    examples: defaultdict[str, list[dict[str, object]]] = field(default_factory=lambda: defaultdict(list))

    def add(self, reason: str, line: int, source: str, target: str) -> None:
        """Count a pair; `line` is that of the files, from 1."""
        self.counts[reason] += 1
        if self.counts[reason] <= EXAMPLES:
            self.examples[reason].append({"line": line, "source": _shown(source), "target": _shown(target)})

    def as_json(self) -> dict[str, object]:
        """Return counts and examples by reason, the most frequent first."""
        return {
            reason: {"pairs": count, "examples": self.examples[reason]} for reason, count in self.counts.most_common()
        }


def _shown(text: str) -> str:
    return visible(text[:EXAMPLE_CHARACTERS]) + ("…" if len(text) > EXAMPLE_CHARACTERS else "")


@dataclass(frozen=True)
class Preparation:
    """What `prepare` did."""

    folder: Path
    lines: int
    """Pairs read, those of given validation and test files not counted."""
    splits: Mapping[str, PairKeys]
    dropped: Dropped
    warnings: list[str]

    @property
    def counts(self) -> dict[str, int]:
        """Pairs by split."""
        return {split: len(pairs) for split, pairs in self.splits.items()}

    @property
    def kept(self) -> int:
        """Pairs read that stand in a split now."""
        return self.lines - self.dropped.counts.total()

    def as_json(self) -> dict[str, object]:
        """Return the content of `report.json`."""
        return {
            "lines": self.lines,
            "kept": self.kept,
            "dropped": self.dropped.as_json(),
            "pairs": self.counts,
            "words_a_sentence": {
                split: {side: describe(words) for side, words in zip(("source", "target"), pairs.words, strict=True)}
                for split, pairs in self.splits.items()
            },
            "warnings": [visible(warning) for warning in self.warnings],
        }

    def summary(self) -> list[str]:
        """Return the lines for the screen: warnings, what was dropped, what there is now."""
        reasons = ", ".join(f"{count:,} {reason}" for reason, count in self.dropped.counts.most_common())
        splits = ", ".join(f"{count:,} {split}" for split, count in self.counts.items())
        return [
            *(f"warning: {warning}" for warning in self.warnings),
            f"{self.kept:,} of {self.lines:,} pairs kept" + (f"; dropped: {reasons}" if reasons else ""),
            f"{self.folder}: {splits}",
        ]


def split_warnings(
    splits: Mapping[str, PairKeys], given: Mapping[str, PairKeys], dropped: Dropped, config: CleaningConfig
) -> list[str]:
    """Return what a person should know about the splits."""
    found = []
    if overlap := dropped.counts[OVERLAP]:
        found.append(
            f"{overlap:,} pairs left out of train: their source or target stands in valid or test too; "
            "--set cleaning.drop_overlap=false keeps them"
        )
    for (split, pairs), (other, others) in itertools.combinations(splits.items(), 2):
        if shared := int(np.count_nonzero(shares_a_sentence(pairs, others))):
            found.append(f"{shared:,} pairs of {split} share a sentence with {other}")
    wanted = wanted_sizes(config, given)
    held_out = {split: len(splits.get(split, ())) for split in wanted}
    most = (len(splits["train"]) + sum(held_out.values())) // AT_MOST_A
    if any(held_out[split] < min(size, max(most, 1)) for split, size in wanted.items()):
        numbers = " and ".join(f"{size:,} pairs for {split}" for split, size in held_out.items())
        found.append(
            f"held out {numbers}: at most a tenth of all, and none that shares a sentence with another split; "
            f"name files of your own with --{' and --'.join(f'{split}-source' for split in held_out)}"
        )
    return found


def describe(numbers: Words) -> dict[str, Any]:
    """Return mean, percentiles and the largest of some numbers."""
    if not len(numbers):
        return {}
    values = np.percentile(numbers, PERCENTILES, method="inverted_cdf")
    percentiles = {f"p{share}": int(value) for share, value in zip(PERCENTILES, values, strict=True)}
    return {"mean": round(float(np.mean(numbers)), 2), **percentiles, "max": int(numbers.max())}
