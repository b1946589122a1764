"""Draw what table.py found: work, time and path length against the length of a sentence."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from measures import multiply_adds, path_length

LENGTHS = [16 * 2**power for power in range(11)]
PATHS = {
    "self-attention": {},
    "recurrent": {},
    "contiguous, centred": {"k": 3},
    "dilated": {"k": 3},
    "restricted": {"r": 64},
}


def main() -> None:
    """Read the JSON named first and write the picture named second."""
    found, out = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")), Path(sys.argv[2])
    try:
        import matplotlib as mpl
    except ModuleNotFoundError:
        print(f"{out}: not drawn, matplotlib is not installed; pip install -e '.[plots]' at the top", file=sys.stderr)
        return
    mpl.use("svg")
    from matplotlib import pyplot as plt

    crossover = found["crossover"]
    d, k = crossover["d"], crossover["k"]
    figure, (work, clock, path) = plt.subplots(1, 3, figsize=(15, 4.5), layout="constrained")
    for kind in ("self-attention", "recurrent", "convolution", "restricted"):
        counts = [multiply_adds(kind, n=n, d=d, k=k, r=64) for n in LENGTHS]
        work.plot(LENGTHS, counts, label=kind + {"convolution": f", k = {k}", "restricted": ", r = 64"}.get(kind, ""))
    work.set(title=f"Multiply-adds, d = {d}, projections not counted", xlabel="n")
    for kind, seconds in crossover["seconds"].items():
        clock.plot(crossover["lengths"], [1000 * one for one in seconds], marker="o", label=kind)
    if length := crossover["recurrent"]["time"]:
        clock.axvline(length, color="grey", linestyle=":", label=f"n* = {length:,.0f}")
    clock.set(title=f"Milliseconds forward, one core, d = {d}", xlabel="n")
    for kind, sizes in PATHS.items():
        label = kind + "".join(f", {name} = {size}" for name, size in sizes.items())
        path.plot(LENGTHS[:7], [path_length(kind, n=n, **sizes) for n in LENGTHS[:7]], marker="o", label=label)
    path.set(title="Layers, or steps, between the ends", xlabel="n")
    for axes in (work, clock, path):
        axes.set(xscale="log", yscale="log")
        axes.legend()
    figure.savefig(out, metadata={"Date": None})
    print(out)


if __name__ == "__main__":
    main()
