"""Throughput of training: this program and the peer, in turns, on the same pairs; a table and out/training-PRESET.json.

The peer's best mode (attention, processes x threads) is found first, once, and kept in out/peer-PRESET.json.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from dataclasses import asdict
from pathlib import Path

import processes
from contenders import PRECISIONS, TUNED, as_it_comes, ours, peer, peer_modes
from figures import ratios, spread, table, write_result
from window import DISTURBED, WarmUp, Window, end_with_children, measure, tell_round

Mode = tuple[str, int, int]
PROBE_TOKENS = 4_096
"""Tokens a side of an update while the peer's modes are compared."""


def main() -> None:
    """Measure one preset."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--nmt", required=True)
    parser.add_argument("--preset", required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--compiled-rounds", type=int, default=2)
    parser.add_argument("--window", type=float, default=30.0, help="seconds")
    parser.add_argument("--compiled-warm-up", type=float, default=60.0, help="seconds")
    parser.add_argument("--peer-mode", help="as in 'eager 1 2'; default: the fastest, measured once")
    parser.add_argument("--set", action="append", default=[], dest="assignments", help="for both programs")
    parser.add_argument("--out", type=Path, default=Path("out"))
    options = parser.parse_args()
    end_with_children()
    modes = best_modes(options)
    settings = {
        name: str(value) if isinstance(value, Path) else value for name, value in vars(options).items() if name != "out"
    }
    result = {
        "began": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "machine": processes.machine(),
        "settings": settings,
        "peer_modes": modes,
    }
    windows: list[Window] = []
    rounds: list[dict[str, object]] = []
    target = options.out / f"training-{options.preset}.json"
    for number in range(1, options.rounds + 1):
        tell_round(number, options.rounds)
        load = os.getloadavg()[0]
        compiled = number <= options.compiled_rounds
        seen = one_round(options, modes, seed=number, compiled=compiled)
        windows += seen
        rounds.append({"load_average": load, "windows": [asdict(window) for window in seen]})
        write_result(target, {**result, "rounds": rounds, "summary": summary(windows)})
    print(f"\n`{options.preset}` on {processes.machine()}; {options.rounds} rounds of {options.window:.0f} s\n")
    print(as_table(windows))
    disturbed = sum(window.others_share > DISTURBED for window in windows)
    print(f"\n{disturbed} of {len(windows)} windows were disturbed by other processes; details in {target}")


def warm_up_of(preset: str) -> WarmUp:
    """Return some updates, and time for memory and clocks to settle."""
    return WarmUp(updates=1, seconds=5) if preset in {"base", "big"} else WarmUp(updates=5, seconds=5)


def best_modes(options: argparse.Namespace) -> dict[str, Mode]:
    """Return the peer's fastest mode by precision, from what was measured before or now."""
    if options.peer_mode:
        return dict.fromkeys(PRECISIONS, as_mode(options.peer_mode))
    kept = options.out / f"peer-{options.preset}.json"
    if not kept.exists():
        print(f"the peer's modes at {options.preset}, a window of {options.window / 2:.0f} s each", flush=True)
        speeds = {precision: probe(options, precision) for precision in PRECISIONS}
        write_result(kept, {"machine": processes.machine(), "tokens_per_second": speeds})
    speeds = json.loads(kept.read_text(encoding="utf-8"))["tokens_per_second"]
    return {precision: as_mode(max(by_mode, key=lambda mode: by_mode[mode])) for precision, by_mode in speeds.items()}


def as_mode(text: str) -> Mode:
    """Return attention, processes and threads of each from a text as in 'eager 1 2'."""
    attention, n_processes, threads = text.split()
    return attention, int(n_processes), int(threads)


def probe(options: argparse.Namespace, precision: str) -> dict[str, float]:
    """Return the tokens a second of each of the peer's modes, with small updates."""
    more = [*options.assignments, f"training.tokens_per_update={PROBE_TOKENS}"]
    found = {}
    for mode in peer_modes():
        contender = peer(options.data, options.preset, precision=precision, seed=1, mode=mode, more=more)
        window = measure(
            contender, Path("runs/probe"), warm_up=WarmUp(updates=2, seconds=5), seconds=options.window / 2
        )
        found[" ".join(map(str, mode))] = window.tokens_per_second
    return found


def one_round(options: argparse.Namespace, modes: dict[str, Mode], *, seed: int, compiled: bool) -> list[Window]:
    """Return a window of each contender, ours and the peer's in turns, on the updates of one seed."""
    data, preset, more = options.data, options.preset, options.assignments
    warm_up = warm_up_of(preset)
    plan = []
    for precision in PRECISIONS:
        plan += [
            (ours(options.nmt, data, preset, precision=precision, seed=seed, more=more), warm_up),
            (peer(data, preset, precision=precision, seed=seed, mode=modes[precision], more=more), warm_up),
            (
                peer(data, preset, precision=precision, seed=seed, mode=as_it_comes(), own_batches=True, more=more),
                warm_up,
            ),
        ]
    if compiled:
        longer = WarmUp(warm_up.updates, max(warm_up.seconds, options.compiled_warm_up))
        plan += [
            (ours(options.nmt, data, preset, precision=precision, seed=seed, compiled=True, more=more), longer)
            for precision in PRECISIONS
        ]
    return [measure(contender, Path("runs/window"), warm_up=warm, seconds=options.window) for contender, warm in plan]


def by_contender(windows: list[Window]) -> dict[str, list[Window]]:
    """Return the windows of each contender, round after round."""
    found: dict[str, list[Window]] = {}
    for window in windows:
        found.setdefault(window.contender, []).append(window)
    return found


PEERS = tuple(f"{peer_name} {precision}" for peer_name in ("MarianMT", TUNED) for precision in PRECISIONS)


def peer_of(windows: dict[str, list[Window]], which: str) -> list[float]:
    """Return the speeds of one of PEERS, round after round."""
    name = next(name for name in windows if name.startswith(which))
    return [window.tokens_per_second for window in windows[name]]


def summary(windows: list[Window]) -> dict[str, dict[str, object]]:
    """Return, by contender, medians with their least and most, and the ratios to the peer of the same rounds."""
    found = by_contender(windows)
    return {
        name: {
            "rounds": len(seen),
            "tokens_per_second": spread(window.tokens_per_second for window in seen),
            "source_tokens_per_second": spread(window.source_tokens_per_second for window in seen),
            "target_tokens_per_second": spread(window.target_tokens_per_second for window in seen),
            "peak_mb_of_largest_process": spread(window.peak_mb for window in seen),
            **{
                f"over {which}": ratios([window.tokens_per_second for window in seen], peer_of(found, which))
                for which in PEERS
            },
        }
        for name, seen in found.items()
    }


def as_table(windows: list[Window]) -> str:
    """Return the same for people."""
    found = by_contender(windows)
    rows = []
    for name, seen in found.items():
        speeds = [window.tokens_per_second for window in seen]
        source = spread(window.source_tokens_per_second for window in seen).median
        target = spread(window.target_tokens_per_second for window in seen).median
        rows.append(
            [
                f"{name} ({len(seen)} rounds)",
                f"{spread(speeds):,.0f}",
                f"{source:,.0f} + {target:,.0f}",
                f"{spread(window.peak_mb for window in seen):,.0f}",
                *(f"{ratios(speeds, peer_of(found, which)):.2f}" for which in PEERS),
            ]
        )
    heads = ["", "tokens/s", "source + target", "peak MB a process", *(f"/ {which}" for which in PEERS)]
    return table(heads, rows)


if __name__ == "__main__":
    main()
