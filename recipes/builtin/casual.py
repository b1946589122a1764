"""Training pairs, and among them copies whose source is written as people type: no full stop, small letters.

The target of a copy stays as it is, so that the model answers a careless line with a proper sentence. Which pairs
are copied, and how, follows from the seed and the number of the line alone.
"""

from __future__ import annotations

import argparse
import gzip
import random
from collections.abc import Iterator
from pathlib import Path

FINAL_MARKS = ".!?…"
UNSPACED_MARKS = "。！？"
KINDS = ("mark", "capital", "mark and capital", "mark and all capitals")


def casual(source: str, kind: str) -> str:
    """Return a sentence without its final mark, its first capital, both, or with no mark and no capital at all."""
    if "mark" in kind:
        source = source.rstrip(FINAL_MARKS + UNSPACED_MARKS).rstrip()
    if "all" in kind:
        return source.lower()
    return source[:1].lower() + source[1:] if "capital" in kind else source


def with_copies(source: str, target: str, line: int, *, share: float, seed: int) -> Iterator[tuple[str, str]]:
    """Yield a pair and perhaps one copy of it."""
    yield source, target
    draw = random.Random(f"{seed} {line}")  # noqa: S311 - a reproducible choice, not a secret
    if draw.random() < share:
        copy = casual(source, draw.choice(KINDS))
        if copy and copy != source:
            yield copy, target


def main() -> None:
    """Read two gzip files aligned by line, write two plain ones."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--target", type=Path, required=True)
    parser.add_argument("--out-source", type=Path, required=True)
    parser.add_argument("--out-target", type=Path, required=True)
    parser.add_argument("--share", type=float, default=0.3, help="of the pairs that get a copy")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    for path in (options.out_source, options.out_target):
        path.parent.mkdir(parents=True, exist_ok=True)
    with (
        gzip.open(options.source, "rt", encoding="utf-8", newline="\n") as sources,
        gzip.open(options.target, "rt", encoding="utf-8", newline="\n") as targets,
        options.out_source.open("w", encoding="utf-8", newline="\n") as out_sources,
        options.out_target.open("w", encoding="utf-8", newline="\n") as out_targets,
    ):
        for line, (source, target) in enumerate(zip(sources, targets, strict=True), 1):
            pair = source.rstrip("\n"), target.rstrip("\n")
            for one, two in with_copies(*pair, line, share=options.share, seed=options.seed):
                out_sources.write(one + "\n")
                out_targets.write(two + "\n")


if __name__ == "__main__":
    main()
