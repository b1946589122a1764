"""Share of padding in the batches that training would take; from the plan alone, nothing is trained."""

from __future__ import annotations

import argparse
from pathlib import Path

from figures import table, write_result
from nmt_cli.batches.corpus import EncodedCorpus, open_pieces
from nmt_cli.batches.cutting import cut_update
from nmt_cli.batches.plan import MICRO_BATCH_TOKENS, Indices, plan_of
from nmt_cli.config import TrainingConfig
from nmt_cli.settings_files import resolve


def main() -> None:
    """Show the share for each preset and number of processes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--presets", nargs="+", required=True)
    parser.add_argument("--ranks", nargs="+", type=int, required=True)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    corpus = open_pieces(options.data).split("train")
    shares: dict[str, dict[int, float]] = {}
    for preset in options.presets:
        config = resolve(preset=preset, config=None).training
        shares[preset] = {n: padding_of_epoch(corpus, config, n_ranks=n) for n in options.ranks}
    heads = [str(options.data), *(f"{n} process{'es' if n > 1 else ''}" for n in options.ranks)]
    print(table(heads, [[f"`{preset}`", *(f"{by[n]:.2%}" for n in options.ranks)] for preset, by in shares.items()]))
    write_result(options.out, {"data": str(options.data), "padding_share": shares})


def padding_of_epoch(corpus: EncodedCorpus, config: TrainingConfig, *, n_ranks: int) -> float:
    """Return the share of padding among the positions of an epoch, both sides counted."""
    source, target = corpus.source.lengths, corpus.target.lengths
    positions = real = 0
    for pairs in plan_of(corpus, config, epoch=0).updates:
        parts = cut_update(
            pairs,
            source,
            target,
            micro_batch_tokens=config.micro_batch_tokens or MICRO_BATCH_TOKENS,
            n_ranks=n_ranks,
        )
        positions += positions_of(parts, source) + positions_of(parts, target)
        real += int(source[pairs].sum() + target[pairs].sum())
    return 1 - real / positions


def positions_of(parts: list[Indices], lengths: Indices) -> int:
    """Return the padded positions of one side of some micro-batches."""
    return sum(len(part) * int(lengths[part].max()) for part in parts)


if __name__ == "__main__":
    main()
