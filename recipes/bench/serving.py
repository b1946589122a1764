"""A decoder that stays loaded: a request a line on stdin, its answer a line on stdout, both JSON.

No package is imported here: a plain decoder must not pay for ours.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

BEAM_SIZE = 4
ALPHA = 1.0
"""Of the penalty that divides by length^alpha, the one that all contenders have."""

Translate = Callable[[list[str], str], list[str]]
"""Lines and the setting of their batches to texts, in order."""


def serve(translate: Translate) -> None:
    """Say that all is loaded, and answer until stdin ends."""
    channel, sys.stdout = sys.stdout, sys.stderr  # what a library prints is no answer
    print(json.dumps({"ready": True}), file=channel, flush=True)
    for request in sys.stdin:
        print(json.dumps({"texts": answers(translate, **json.loads(request))}), file=channel, flush=True)


def answers(translate: Translate, *, lines: list[str], setting: str, callers: int) -> list[str]:
    """Return the translations of lines: of all in one call, or by so many callers at once, a line a call."""
    if callers == 0:
        return translate(lines, setting)

    def one(line: str) -> str:
        return translate([line], setting)[0]

    if callers == 1:
        return [one(line) for line in lines]
    with ThreadPoolExecutor(callers) as pool:
        return list(pool.map(one, lines))
