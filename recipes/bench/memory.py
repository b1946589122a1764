"""Resident memory of each training process by minute, and how it grows; from /proc."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import processes
from contenders import ours
from figures import slope, spread, table, write_result
from window import Training, end_with_children

PER_HOUR = 60


def main() -> None:
    """Train for some minutes and watch."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--nmt", required=True)
    parser.add_argument("--preset", default="small")
    parser.add_argument("--precision", default="bfloat16")
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--settle", type=float, default=5, help="minutes that the slope leaves out, a fifth at most")
    parser.add_argument("--set", action="append", default=[], dest="assignments")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    end_with_children()
    contender = ours(
        options.nmt, options.data, options.preset, precision=options.precision, seed=1, more=options.assignments
    )
    training = Training(contender, Path("runs/memory"))
    try:
        training.wait_for_report()
        by_minute = watch(training, minutes=options.minutes)
        peaks = [processes.memory_bytes(pid, "VmHWM") / 1e6 for pid in processes.members(training.group)]
        updates = int(training.records()[-1]["step"])
    finally:
        training.end()
    settled = [row for row in by_minute if row[0] >= min(options.settle, options.minutes / 5)]
    n_processes = min(len(row[1]) for row in by_minute)
    slopes = [slope([(minute, resident[i]) for minute, resident in settled]) * PER_HOUR for i in range(n_processes)]
    write_result(
        options.out,
        {
            "machine": processes.machine(),
            "contender": contender.name,
            "updates": updates,
            "resident_mb_by_minute": by_minute,
            "peak_mb": peaks,
            "slope_mb_an_hour": slopes,
        },
    )
    report(by_minute, peaks, slopes)
    print(f"\n{contender.name}, `{options.preset}`, {updates:,} updates, on {processes.machine()}")


def watch(training: Training, *, minutes: float) -> list[tuple[float, list[float]]]:
    """Return the resident MB of each process, each minute or six times in all, from the first report on."""
    began, found = time.monotonic(), list[tuple[float, list[float]]]()
    every = min(1.0, minutes / 6)
    while (minute := len(found) * every) <= minutes:
        time.sleep(max(began + minute * 60 - time.monotonic(), 0))
        training.check_alive()
        resident = [processes.memory_bytes(pid, "VmRSS") / 1e6 for pid in processes.members(training.group)]
        found.append((minute, resident))
        print(f"  minute {minute:.1f}: {', '.join(f'{mb:,.0f}' for mb in resident)} MB", file=sys.stderr)
    return found


def report(by_minute: list[tuple[float, list[float]]], peaks: list[float], slopes: list[float]) -> None:
    """Show a table, a row a process."""
    rows = []
    for i, growth in enumerate(slopes):
        resident = [row[1][i] for row in by_minute]
        shown = (resident[0], resident[-1], spread(resident), peaks[i])
        rows.append([f"process {i}", *(f"{mb:,.0f}" for mb in shown), f"{growth:+,.0f}"])
    print(table(["resident MB", "first", "last", "median", "peak", "slope an hour"], rows))


if __name__ == "__main__":
    main()
