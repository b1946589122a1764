"""How training scales: with processes, with the length of sentences, with the vocabulary. Our program alone.

scaling.py ranks DATA            tokens a second of 1, 2 … one-thread processes
scaling.py sizes FOLDER...       time per update on folders called synthetic-VOCABULARY-LENGTH
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import processes
from contenders import PRECISIONS, ours
from figures import Spread, ratios, spread, table, write_result
from window import Contender, WarmUp, Window, end_with_children, measure, tell_round

WARM_UP = WarmUp(updates=5, seconds=5)


def main() -> None:
    """Measure one of the two."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["ranks", "sizes"])
    parser.add_argument("data", type=Path, nargs="+")
    parser.add_argument("--nmt", required=True)
    parser.add_argument("--preset", default="small")
    parser.add_argument("--ranks", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--window", type=float, default=30.0, help="seconds")
    parser.add_argument("--set", action="append", default=[], dest="assignments")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    end_with_children()
    windows: dict[str, list[Window]] = {}
    rounds = []
    for number in range(1, options.rounds + 1):
        tell_round(number, options.rounds)
        load = os.getloadavg()[0]
        contenders = by_ranks(options, number) if options.what == "ranks" else by_sizes(options, number)
        for name, contender in contenders:
            window = measure(contender, Path("runs/window"), warm_up=WARM_UP, seconds=options.window)
            windows.setdefault(name, []).append(window)
            rounds.append({"round": number, "load_average": load, "name": name} | asdict(window))
        result = {
            "machine": processes.machine(),
            "preset": options.preset,
            "ended": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        }
        write_result(options.out, result | {"windows": rounds})
    print(f"\n`{options.preset}` on {processes.machine()}; {options.rounds} rounds of {options.window:.0f} s\n")
    print(table_of_ranks(windows) if options.what == "ranks" else table_of_sizes(windows))


def by_ranks(options: argparse.Namespace, seed: int) -> Iterator[tuple[str, Contender]]:
    """Yield each number of processes in each precision."""
    for precision in PRECISIONS:
        for n_ranks in options.ranks:
            contender = ours(
                options.nmt,
                options.data[0],
                options.preset,
                precision=precision,
                seed=seed,
                ranks=n_ranks,
                more=options.assignments,
            )
            yield f"{precision} {n_ranks}", contender


def by_sizes(options: argparse.Namespace, seed: int) -> Iterator[tuple[str, Contender]]:
    """Yield each folder, in bfloat16 and with as many processes as cores."""
    for data in options.data:
        more = options.assignments
        yield data.name, ours(options.nmt, data, options.preset, precision="bfloat16", seed=seed, more=more)


def table_of_ranks(windows: dict[str, list[Window]]) -> str:
    """Return speeds, and the gain over the first number of processes of the same precision."""
    speeds = {name: [window.tokens_per_second for window in seen] for name, seen in windows.items()}
    first: dict[str, list[float]] = {}
    rows = []
    for name, values in speeds.items():
        precision, n_ranks = name.split()
        base = first.setdefault(precision, values)
        peak = spread(window.peak_mb for window in windows[name])
        rows.append([precision, n_ranks, f"{spread(values):,.0f}", f"{ratios(values, base):.2f}", f"{peak:,.0f}"])
    return table(["", "processes", "tokens/s", "gain", "peak MB a process"], rows)


def table_of_sizes(windows: dict[str, list[Window]]) -> str:
    """Return the time of an update by sentence length and vocabulary."""
    rows = []
    for name, seen in windows.items():
        vocabulary, length = name.split("-")[1:]
        times: Spread = spread(1000 * window.seconds_per_update for window in seen)
        speeds = spread(window.tokens_per_second for window in seen)
        peak = spread(window.peak_mb for window in seen)
        rows.append([f"{int(vocabulary):,}", length, f"{times:,.0f}", f"{speeds:,.0f}", f"{peak:,.0f}"])
    heads = ["vocabulary", "tokens a sentence", "ms an update", "tokens/s", "peak MB a process"]
    return table(heads, rows)


if __name__ == "__main__":
    main()
