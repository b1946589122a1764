"""A rank that is not the lead: it shares the work of each update and nothing else."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from pathlib import Path

import torch

from nmt_cli.batches.plan import Cursor
from nmt_cli.batches.training_data import open_training_data
from nmt_cli.config import Settings
from nmt_cli.errors import NmtError
from nmt_cli.model.transformer import Transformer
from nmt_cli.settings_files import resolve
from nmt_cli.training.checkpoint import Trained
from nmt_cli.training.gradient import Gradient
from nmt_cli.training.loop import planned_updates, take_update
from nmt_cli.training.ranks import Ranks, join_ranks, leave_ranks
from nmt_cli.training.state import make_optimizer, state_tensors

SET_PARENT_DEATH_SIGNAL = 1


def main() -> None:
    """Work as the rank that the arguments name, until the lead says that it is over.

    What goes wrong is left, in its last line, to the log that `launch` reads.
    """
    rank, world_size, parent, store, config, *pieces = sys.argv[1:]
    die_with(int(parent))
    torch.set_num_threads(1)
    try:
        settings = resolve(preset=None, config=Path(config))
        trained = untrained([Path(path) for path in pieces], settings)
        ranks = join_ranks(Path(store), rank=int(rank), world_size=int(world_size))
        follow(trained, ranks)
        leave_ranks(ranks)
    except NmtError as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(error.exit_code)


def die_with(parent: int) -> None:
    """Have this process killed when its parent ends, however it ends (Linux)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() != parent:
        sys.exit(1)


def untrained(data: list[Path], settings: Settings) -> Trained:
    """Return a model and optimizer to be filled from the lead."""
    pieces = open_training_data(data)
    model = Transformer(
        settings.model, source_vocab_size=pieces.source_vocab_size, target_vocab_size=pieces.target_vocab_size
    )
    return Trained(model, make_optimizer(model, settings.training), pieces, settings)


def follow(trained: Trained, ranks: Ranks) -> None:
    """Share updates with the lead, from where it stands until it says stop."""
    ranks.follow_lead_(state_tensors(trained.model, trained.optimizer))
    cursor = Cursor(ranks.lead_says(0), ranks.lead_says(0), ranks.lead_says(0))
    gradient = Gradient(trained.model)
    trained.model.train()
    for pairs, after in planned_updates(trained.corpus, trained.settings.training, cursor):
        if not ranks.lead_says(0):
            return
        take_update(trained, gradient, pairs, step=after.step, ranks=ranks)


if __name__ == "__main__":
    main()
