"""Table 1, measured: prints the paper's table with what was found, and writes it as JSON for the plot."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

import torch

from crossover import by_work, crossing, timed
from measures import counted, expected_path, gradient_reaches, multiply_adds, path_length, sequential_operations, slope

KINDS = ["self-attention", "recurrent", "convolution", "restricted"]
PAPER = {
    "self-attention": ("n^2 d", "1", "1"),
    "recurrent": ("n d^2", "n", "n"),
    "convolution": ("k n d^2", "1", "log_k n"),
    "restricted": ("r n d", "1", "n/r"),
}
PATHS = [
    ("self-attention", {}),
    ("recurrent", {}),
    ("contiguous, one-sided", {"k": 3}),
    ("contiguous, centred", {"k": 3}),
    ("dilated", {"k": 3}),
    ("dilated", {"k": 7}),
    ("restricted", {"r": 16}),
    ("restricted", {"r": 64}),
]
LENGTHS = [64, 256, 1024, 4096, 8192]
WIDTHS = [64, 128, 256, 512, 1024]
KERNELS = [3, 5, 7]
WINDOWS = [16, 64, 256]
CHAIN_LENGTHS = [8, 16, 32, 64]
PATH_LENGTHS = [17, 65, 257, 1025]
GRADIENT_LENGTH = 33
TIMED_LENGTHS = [64, 128, 256, 512, 1024, 2048, 4096, 8192]


def work(kind: str) -> dict[str, object]:
    """Return the powers that the counted work of a layer grows with, and whether the shapes give the same."""
    # The counter sees an LSTM a step at a time, which takes long.
    lengths = LENGTHS[:3] if kind == "recurrent" else LENGTHS
    by_n = [counted(kind, n=n, d=64) for n in lengths]
    by_d = [counted(kind, n=128, d=d) for d in WIDTHS]
    found: dict[str, object] = {"n": slope(lengths, by_n), "d": slope(WIDTHS, by_d)}
    same = by_n == [multiply_adds(kind, n=n, d=64) for n in lengths]
    same &= by_d == [multiply_adds(kind, n=128, d=d) for d in WIDTHS]
    if kind == "convolution":
        found["k"] = slope(KERNELS, [counted(kind, n=128, d=64, k=k) for k in KERNELS])
    if kind == "restricted":
        found["r"] = slope(WINDOWS, [counted(kind, n=128, d=64, r=r) for r in WINDOWS])
    return found | {"as the shapes say": same}


def chain(kind: str) -> list[int]:
    """Return the longest chain of operations at each length."""
    return [sequential_operations(kind, n=n) for n in CHAIN_LENGTHS]


def paths(kind: str, sizes: dict[str, int]) -> dict[str, object]:
    """Return the path lengths, what theory has, and whether gradients agree at a small length."""
    layers = path_length(kind, n=GRADIENT_LENGTH, **sizes)
    last = GRADIENT_LENGTH - 1
    confirmed = gradient_reaches(kind, layers, n=GRADIENT_LENGTH, **sizes)
    if kind == "recurrent":
        confirmed &= layers == last
    elif layers > 1:
        confirmed &= not gradient_reaches(kind, layers - 1, n=GRADIENT_LENGTH, **sizes)
    return {
        "kind": kind,
        **sizes,
        "layers": [path_length(kind, n=n, **sizes) for n in PATH_LENGTHS],
        "expected": [expected_path(kind, n=n, **sizes) for n in PATH_LENGTHS],
        "gradients agree": confirmed,
    }


def crossovers(d: int, k: int) -> dict[str, object]:
    """Return the lengths at which self-attention begins to cost more, by work and by the clock."""
    seconds = timed(TIMED_LENGTHS, d=d, k=k)
    found: dict[str, object] = {"d": d, "k": k, "lengths": TIMED_LENGTHS, "seconds": seconds}
    for other in ("recurrent", "convolution"):
        found[other] = {
            "paper": d if other == "recurrent" else k * d,
            "core": by_work(other, d=d, k=k, with_projections=False),
            "with projections": by_work(other, d=d, k=k, with_projections=True),
            "time": crossing(TIMED_LENGTHS, seconds, other),
        }
    return found


def measured(d: int, k: int) -> dict[str, object]:
    """Return everything."""
    return {
        "work": {kind: work(kind) for kind in KINDS},
        "chain_lengths": CHAIN_LENGTHS,
        "chain": {kind: chain(kind) for kind in KINDS},
        "path_lengths": PATH_LENGTHS,
        "paths": [paths(kind, sizes) for kind, sizes in PATHS],
        "crossover": crossovers(d, k),
    }


def lines(found: dict) -> list[str]:  # type: ignore[type-arg]
    """Return the table for people."""
    shown = ["Work: power of each size in the counted multiply-adds (torch's counter; the shapes give the same count)"]
    for kind in KINDS:
        powers = {name: value for name, value in found["work"][kind].items() if len(name) == 1}
        told = "  ".join(f"{name}^{power:.2f}" for name, power in powers.items())
        agrees = "" if found["work"][kind]["as the shapes say"] else "  DIFFERS from the shapes"
        shown.append(f"  {kind:<22} paper O({PAPER[kind][0]:<8}) measured {told}{agrees}")
    shown.append(f"Sequential operations: longest chain at n = {_list(found['chain_lengths'])}")
    shown += [f"  {kind:<22} paper O({PAPER[kind][1]:<8}) measured {_list(found['chain'][kind])}" for kind in KINDS]
    shown.append(
        f"Path length: layers until the last position depends on the first, n = {_list(found['path_lengths'])}"
    )
    for path in found["paths"]:
        name = path["kind"] + "".join(f", {size} = {path[size]}" for size in ("k", "r") if size in path)
        agrees = "gradients agree" if path["gradients agree"] else "gradients DIFFER"
        same = "as expected" if path["layers"] == path["expected"] else f"EXPECTED {_list(path['expected'])}"
        shown.append(f"  {name:<30} {_list(path['layers'])}  {same}, {agrees}")
    crossover = found["crossover"]
    d, k = crossover["d"], crossover["k"]
    shown.append(f"Crossover: length from which self-attention costs more than the other layer, d = {d}, k = {k}")
    for other in ("recurrent", "convolution"):
        told = crossover[other]
        shown.append(
            f"  {other:<22} paper's terms {told['paper']:,}; multiply-adds {_length(told['core'])}, with the "
            f"projections {_length(told['with projections'])}; time of one core {_length(told['time'])}"
        )
    shown.append("Milliseconds forward, one sentence, one core:  n = " + _list(crossover["lengths"]))
    for name, seconds in crossover["seconds"].items():
        shown.append(f"  {name:<22} " + _list([f"{1000 * one:.1f}" for one in seconds]))
    return shown


def _length(found: float | None) -> str:
    if found is None:
        return "beyond the longest"
    return f"{found:,.0f}" if found else "every length"


def _list(values: Sequence[object]) -> str:
    return " ".join(str(value) for value in values)


def main() -> None:
    """Measure, print, and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--d", type=int, default=512, help="width at which the crossover is timed")
    parser.add_argument("--k", type=int, default=3, help="kernel of the convolution that is timed")
    parser.add_argument("--out", type=Path, default=Path("out/table1.json"))
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(1)
    found = measured(arguments.d, arguments.k)
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print("\n".join(lines(found)))


if __name__ == "__main__":
    main()
