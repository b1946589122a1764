"""How much of a GPU's matrix peak training uses: model FLOPs of the paper's updates over the peak of the same run.

Trains a preset on synthetic ids in bfloat16, with packed and with padded sentences in turns; the peak is that of large
matrix products, before each round and after the last. Writes out/mfu-PRESET.json, and a profile of some updates to
out/mfu-PRESET-profile.txt. Then two models without dropout, packed and padded, learn the same updates.

The time of the optimizer, of the losses and of making batches is in it. Model FLOPs are those of
nmt_cli/model/flops.py: none for padding, none done twice.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import torch
from torch.profiler import ProfilerActivity, profile

from figures import Spread, spread, table, write_result
from nmt_cli.batches.plan import Cursor
from nmt_cli.batches.prepared import PreparedUpdate
from nmt_cli.config import Settings
from nmt_cli.model.packing import Kernel, one_sentence_at_a_time
from nmt_cli.model.transformer import Transformer
from nmt_cli.settings_files import resolve
from nmt_cli.training import gradient, packed_loss, update
from nmt_cli.training.compiling import compile_layers
from nmt_cli.training.gradient import Gradient
from nmt_cli.training.loop import planned_updates
from nmt_cli.training.memory import MicroBatchLimit
from nmt_cli.training.ranks import Ranks
from nmt_cli.training.state import Progress
from nmt_cli.training.trained import Trained, share_state
from nmt_cli.training.update import UpdateResult, ready_updates, take_update
from synthetic_ids import SyntheticData, synthetic_data

SIDES = {"cuda": (4_096, 8_192, 16_384), "cpu": (512,)}
"""Of the square matrices whose products make the peak."""
MODES = ("packed", "padded")
CURVE_WARM_UP = 4
"""Times as many steps as a curve has: its learning rate rises all the way, and not too far."""


@dataclass
class Running:
    """A model in training, in one of the modes."""

    mode: str
    trained: Trained
    gradient: Gradient
    updates: Iterator[PreparedUpdate]
    ranks: Ranks
    limit: MicroBatchLimit

    @classmethod
    def begin(cls, mode: str, data: SyntheticData, settings: Settings, device: torch.device) -> Running:
        """Return one that begins; all that begin with the same settings have the same weights and updates."""
        ranks = Ranks(device=device)
        trained = Trained.new(data, settings, device=device)  # type: ignore[arg-type] - all that is asked of it here
        with laid_out(mode, device):
            _, limit = share_state(trained, Progress(), ranks)
            if settings.machine.compile:
                compile_layers(trained.model, lambda line: print(line, file=sys.stderr))
        trained.model.train()
        planned = planned_updates(trained.corpus, settings.training, Cursor())
        updates = ready_updates(trained, planned, ranks=ranks, limit=limit)
        return cls(mode, trained, Gradient(trained.model), updates, ranks, limit)

    def take(self, n_updates: int) -> list[UpdateResult]:
        """Return what came of the next updates, when they are done."""
        with laid_out(self.mode, self.ranks.device):
            taken = [
                take_update(self.trained, self.gradient, one, ranks=self.ranks, limit=self.limit)
                for one in itertools.islice(self.updates, n_updates)
            ]
            return [one.result() for one in taken]


@contextlib.contextmanager
def laid_out(mode: str, device: torch.device) -> Iterator[None]:
    """Have sentences packed or padded for the block, whatever nmt would choose; on a CPU by the kernel of the tests."""
    real = packed_loss.kernel_for

    def kernel_for(model: Transformer) -> Kernel | None:
        if mode == "padded":
            return None
        return one_sentence_at_a_time if device.type == "cpu" else real(model)

    with (
        patch.object(gradient, "kernel_for", kernel_for),
        patch.object(update, "kernel_for", kernel_for),
        patch("nmt_cli.training.compiling.kernel_for", kernel_for),
    ):
        yield


def main() -> None:
    """Measure one preset."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--preset", required=True)
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda", help="cpu: only to see that it works")
    parser.add_argument("--vocabulary", type=int, default=37_000, help="pieces, for both sides")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--updates", type=int, default=20, help="of a window, which is one mode in one round")
    parser.add_argument("--curve", type=int, default=100, help="updates of each loss curve")
    parser.add_argument("--set", action="append", default=[], dest="assignments")
    parser.add_argument("--out", type=Path, default=Path("out"))
    options = parser.parse_args()
    if options.device == "cuda" and not torch.cuda.is_available():
        sys.exit("mfu: this machine has no CUDA device; --device cpu with --preset tiny shows only that it works")
    torch.set_num_threads(1)
    device = torch.device(options.device)
    settings = resolve(
        preset=options.preset, config=None, assignments=["training.precision=bfloat16", *options.assignments]
    )
    n_needed = (options.rounds + 1) * options.updates + options.curve
    data = synthetic_data(
        n_pairs=max(n_needed * settings.training.tokens_per_update // 28, 1_000), vocabulary=options.vocabulary, seed=1
    )
    result: dict[str, object] = {
        "device": torch.cuda.get_device_name() if device.type == "cuda" else "cpu",
        "torch": torch.__version__,
        "settings": settings.model_dump(mode="json"),
        "vocabulary": options.vocabulary,
    }
    result |= measure(options, data, settings, device)
    result |= curves(options.curve, data, settings, device)
    write_result(options.out / f"mfu-{options.preset}.json", result)
    print(f"\ndetails in {options.out / f'mfu-{options.preset}.json'}, where the time goes in {profile_path(options)}")


def measure(
    options: argparse.Namespace, data: SyntheticData, settings: Settings, device: torch.device
) -> dict[str, object]:
    """Print the table of all modes; return what it is made of."""
    peaks, speeds, tokens, memory = [], dict[str, list[float]](), dict[str, list[float]](), dict[str, float]()
    running = [Running.begin(mode, data, settings, device) for mode in MODES]
    for one in running:
        one.take(options.updates)  # what is found out and compiled at first
    for number in range(options.rounds):
        print(f"round {number + 1} of {options.rounds}", file=sys.stderr)
        peaks.append(matrix_peak(device))
        for one in running:
            reset_memory(device)
            began = time.perf_counter()
            results = one.take(options.updates)
            seconds = time.perf_counter() - began
            speeds.setdefault(one.mode, []).append(sum(result.loss.model_flops for result in results) / seconds)
            counts = [result.loss.source_tokens + result.loss.target_tokens for result in results]
            tokens.setdefault(one.mode, []).append(sum(counts) / seconds)
            memory[one.mode] = max(memory.get(one.mode, 0.0), peak_memory(device))
    peaks.append(matrix_peak(device))
    peak = max(peaks)  # of what the device can do, the best that was seen
    used = {mode: spread(100 * speed / peak for speed in found) for mode, found in speeds.items()}
    print(f"\n`{options.preset}` on {device.type}, matrix peak in bfloat16 {peak / 1e12:,.2f} TFLOP/s\n")
    print(as_table(used, speeds, tokens, memory))
    write_profile(options, running[0], device)
    return {
        "matrix_peaks": peaks,
        "micro_batch_positions": {one.mode: one.limit.tokens for one in running},
        "model_flops_per_second": speeds,
        "tokens_per_second": tokens,
        "peak_memory_bytes": memory,
        "percent_of_peak": used,
    }


def as_table(
    used: dict[str, Spread], speeds: dict[str, list[float]], tokens: dict[str, list[float]], memory: dict[str, float]
) -> str:
    """Return the figures for people."""
    heads = ["", "of the peak, %", "model TFLOP/s", "source + target tokens/s", "peak GB, both models"]
    rows = [
        [
            mode,
            f"{used[mode]:.1f}",
            f"{spread(speed / 1e12 for speed in speeds[mode]):,.2f}",
            f"{spread(tokens[mode]):,.0f}",
            f"{memory[mode] / 1e9:.2f}",
        ]
        for mode in MODES
    ]
    return table(heads, rows)


def matrix_peak(device: torch.device, *, seconds: float = 0.5) -> float:
    """Return the FLOPs a second of products of square matrices in bfloat16, of the size that is best at it."""
    found = []
    for side in SIDES[device.type]:
        left, right = (torch.randn(side, side, device=device, dtype=torch.bfloat16) for _ in range(2))
        out = left @ right
        synchronise(device)
        done, began = 0, time.perf_counter()
        while time.perf_counter() - began < seconds:
            for _ in range(4):
                torch.mm(left, right, out=out)
            synchronise(device)
            done += 4
        found.append(2 * side**3 * done / (time.perf_counter() - began))
    return max(found)


def curves(n_updates: int, data: SyntheticData, settings: Settings, device: torch.device) -> dict[str, object]:
    """Learn the same updates packed, padded, and padded in other micro-batches; print how far apart the losses are.

    The last says how far apart rounding alone takes two runs. Dropout is off, since its masks would differ.
    """
    no_dropout = settings.model.model_copy(update={"dropout": 0.0, "ffn_dropout": 0.0, "attention_dropout": 0.0})
    slowly = settings.training.model_copy(update={"warmup_steps": CURVE_WARM_UP * n_updates})
    settings = settings.model_copy(update={"model": no_dropout, "training": slowly})
    found: dict[str, list[float]] = {}
    for name, share in (("packed", 1), ("padded", 1), ("padded, half the micro-batches' size", 2)):
        one = Running.begin(name.partition(",")[0], data, settings, device)
        one.limit.tokens = min(one.limit.tokens, settings.training.tokens_per_update) // share
        found[name] = [
            result.loss.smoothed / result.loss.target_tokens for _ in range(n_updates) for result in one.take(1)
        ]
    packed, padded, otherwise = found.values()
    apart, by_rounding = (furthest(other, padded) for other in (packed, otherwise))
    print(
        f"\n{n_updates} updates without dropout, loss {padded[0]:.4f} to {padded[-1]:.4f}: the packed path at most "
        f"{apart:.2e} from the padded one, which is {by_rounding:.2e} from itself in other micro-batches (relative)"
    )
    return {"curves": found, "curves_apart": apart, "curves_apart_by_rounding": by_rounding}


def furthest(found: Sequence[float], expected: Sequence[float]) -> float:
    """Return the largest relative difference of two curves."""
    return max(abs(one - two) / abs(two) for one, two in zip(found, expected, strict=True))


def write_profile(options: argparse.Namespace, running: Running, device: torch.device) -> None:
    """Write where the time of some updates goes, operation by operation."""
    on_gpu = device.type == "cuda"
    with profile(activities=[ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if on_gpu else [])]) as seen:
        running.take(2)
    order = "self_device_time_total" if on_gpu else "self_cpu_time_total"
    options.out.mkdir(parents=True, exist_ok=True)
    text = seen.key_averages().table(sort_by=order, row_limit=40, max_name_column_width=80)
    profile_path(options).write_text(text + "\n", encoding="utf-8")


def profile_path(options: argparse.Namespace) -> Path:
    """Return where the profile goes."""
    return Path(options.out / f"mfu-{options.preset}-profile.txt")


def synchronise(device: torch.device) -> None:
    """Wait for the device."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def reset_memory(device: torch.device) -> None:
    """Count the peak from here on."""
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)


def peak_memory(device: torch.device) -> float:
    """Return the most bytes of tensors on a GPU; of a CPU nothing is asked."""
    return float(torch.cuda.max_memory_allocated(device)) if device.type == "cuda" else 0.0


if __name__ == "__main__":
    main()
