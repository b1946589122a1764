"""The rounds of the decoding bench: contenders that stay loaded translate the same lines in turns."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import processes
from decoders import MODES, Decoder, Decoding, Running
from decoding_text import BenchText, sample
from window import DISTURBED

WARM_UP_LINES = 64


class Seen(NamedTuple):
    """A measurement and what came out."""

    decoding: Decoding
    texts: list[str]


@contextlib.contextmanager
def loaded(decoders: Sequence[Decoder], logs: Path) -> Iterator[list[Running]]:
    """Give the contenders, loaded one after another; end them all."""
    running: list[Running] = []
    try:
        for decoder in decoders:
            running.append(Running(decoder, logs / f"{decoder.name.replace(' ', '-')}.output"))
            running[-1].wait_until_loaded()
        yield running
    finally:
        for one in running:
            one.end()


def time_settings(one: Running, lines: Sequence[str]) -> dict[str, float]:
    """Return the seconds that a contender takes for the lines by size of batch, the lesser of two; it is warm then.

    Where there is nothing to choose from no time is taken: 0.
    """
    settings = one.decoder.settings
    one.translate(lines[:WARM_UP_LINES], setting=settings[0])
    if len(settings) == 1:
        return {settings[0]: 0.0}
    seconds = dict.fromkeys(settings, float("inf"))
    for setting in [*settings, *settings]:
        began = time.monotonic()
        one.translate(lines, setting=setting)
        seconds[setting] = min(seconds[setting], time.monotonic() - began)
    return seconds


def fastest(seconds: Mapping[str, float]) -> str:
    """Return the setting that takes least time."""
    return min(seconds, key=lambda setting: seconds[setting])


def one_round(
    running: Sequence[Running], text: BenchText, settings: Mapping[str, str], *, slow_lines: int
) -> list[Seen]:
    """Return what each contender does in each of its modes, mode after mode."""
    seen = []
    for mode in MODES:
        for one in running:
            if mode in one.decoder.modes:
                is_short = mode != MODES[0] and one.decoder.is_slow
                lines = sample(text.sources, slow_lines) if is_short else text.sources
                seen.append(measure(one, lines, text, mode=mode, setting=settings[one.decoder.name]))
                tell(seen[-1].decoding)
    return seen


def measure(one: Running, lines: Sequence[str], text: BenchText, *, mode: str, setting: str) -> Seen:
    """Have a contender translate lines, and watch it."""
    callers = {"batched": 0, "one at a time": one.decoder.callers, "one caller": 1}[mode]
    own, busy, began = one.cpu_seconds(), processes.busy_seconds(), time.monotonic()
    texts = one.translate(lines, setting=setting, callers=callers)
    seconds = time.monotonic() - began
    busy, own = processes.busy_seconds() - busy, one.cpu_seconds() - own
    decoding = Decoding(
        decoder=one.decoder.name,
        mode=mode,
        setting=setting,
        lines=len(lines),
        tokens=text.n_tokens(texts),
        seconds=seconds,
        others_share=max(busy - own, 0.0) / seconds / (os.cpu_count() or 1),
    )
    return Seen(decoding, texts)


def tell(seen: Decoding) -> None:
    """Say what was seen, and whether it was disturbed."""
    print(
        f"  {seen.decoder}, {seen.mode}: {seen.lines_per_second:,.1f} sentences/s over {seen.lines:,} lines",
        file=sys.stderr,
    )
    if seen.others_share > DISTURBED:
        print(f"  warning: other processes used {seen.others_share:.0%} of the cores meanwhile", file=sys.stderr)
