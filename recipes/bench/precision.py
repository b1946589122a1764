"""Does bfloat16 learn as well as float32: equal updates of one preset, some seeds each.

`run` trains by the preset, learning rates and all, until the validation after the last of so many updates, and keeps
that in out/; interrupted, it goes on where it stopped. `compare` makes the table of all that is kept.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from contenders import PRECISIONS
from figures import difference_in_noise, spread, table, write_result
from window import end_with_children

FIGURES = {
    "validation_loss_nats": "validation loss",
    "validation_bleu": "validation BLEU",
    "validation_chrf": "validation chrF",
}
STOPPED = 128 + signal.SIGTERM


def main() -> None:
    """Do one of the two."""
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run")
    run.add_argument("data", type=Path)
    run.add_argument("--nmt", required=True)
    run.add_argument("--preset", required=True)
    run.add_argument("--precision", choices=PRECISIONS, required=True)
    run.add_argument("--seed", type=int, required=True)
    run.add_argument("--steps", type=int, required=True)
    run.add_argument("--out", type=Path, required=True)
    compare = commands.add_parser("compare")
    compare.add_argument("results", type=Path, nargs="+")
    compare.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    if options.command == "run":
        train_to(options)
    else:
        compare_all(options.results, options.out)


def train_to(options: argparse.Namespace) -> None:
    """Train one run until its validation at `steps` is there."""
    end_with_children()
    run = Path("runs") / options.out.stem
    chosen = {
        "training.precision": options.precision,
        "training.seed": options.seed,
        "training.validate_every_steps": options.steps,
        "training.save_every_steps": 200,
        "training.keep_checkpoints": 1,
    }
    command = [
        options.nmt,
        "train",
        str(options.data),
        "--preset",
        options.preset,
        "--run",
        str(run),
        "--device",
        "cpu",
    ]
    command += [word for name, value in chosen.items() for word in ("--set", f"{name}={value}")]
    while (record := validation_at(run / "metrics.jsonl", options.steps)) is None:
        # The preset's own max_steps stands, since the learning rate may depend on it; so it is stopped from here.
        process = subprocess.Popen(command)
        try:
            while process.poll() is None and validation_at(run / "metrics.jsonl", options.steps) is None:
                time.sleep(0.5)
        finally:
            process.send_signal(signal.SIGTERM)
            code = process.wait()
        if code not in {0, STOPPED}:
            sys.exit(code)
    which = {"precision": options.precision, "seed": options.seed, "preset": options.preset, "cores": os.cpu_count()}
    write_result(options.out, which | record)


def validation_at(metrics: Path, step: int) -> dict[str, object] | None:
    """Return what a run's validation after a step said, if it was."""
    if not metrics.exists():
        return None
    for line in metrics.read_text(encoding="utf-8").split("\n")[:-1]:
        record: dict[str, object] = json.loads(line)
        if record["kind"] == "validation" and record["step"] == step:
            return record
    return None


def compare_all(results: list[Path], out: Path) -> None:
    """Show both precisions, seed by seed, and whether they differ by more than the seeds do."""
    records = [json.loads(path.read_text(encoding="utf-8")) for path in results]
    print(f"`{records[0]['preset']}` after {records[0]['step']:,} updates\n")
    print(
        table(
            ["", "seed", *FIGURES.values()],
            [[r["precision"], r["seed"], *(f"{r[field]:.4f}" for field in FIGURES)] for r in records],
        )
    )
    rows, summary = [], {}
    for field, name in FIGURES.items():
        values = {p: [r[field] for r in records if r["precision"] == p] for p in PRECISIONS}
        first, second = (values[precision] for precision in PRECISIONS)
        difference, error = difference_in_noise(first, second)
        rows.append([name, f"{spread(first):.4f}", f"{spread(second):.4f}", f"{difference:+.4f}", f"{error:.4f}"])
        summary[field] = values | {"difference": difference, "standard_error": error}
    print("\n" + table(["", *PRECISIONS, "difference of means", "its standard error by the seeds"], rows))
    write_result(out, {"step": records[0]["step"], "figures": summary})


if __name__ == "__main__":
    main()
