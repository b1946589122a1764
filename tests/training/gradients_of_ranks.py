"""Gradients of updates summed by 1, 2, 3 and 4 processes: `gradients_of_ranks.py CORPUS CONFIG OUT`."""

from __future__ import annotations

import datetime as dt
import os
import sys
from pathlib import Path

import numpy as np
import torch
from torch.distributed import FileStore

from nmt_cli.batches.plan import Cursor, Indices
from nmt_cli.batches.training_data import open_training_data
from nmt_cli.settings_files import resolve
from nmt_cli.training.gradient import Gradient, accumulate_gradient
from nmt_cli.training.memory import MicroBatchLimit
from nmt_cli.training.ranks import Ranks, join, leave
from nmt_cli.training.trained import Trained
from nmt_cli.training.update import prepared

ALL, THREE = np.arange(60), np.array([5, 7, 11])


def gradient_of(pairs: Indices, trained: Trained, ranks: Ranks, *, micro_batch_tokens: int) -> np.ndarray:
    limit = MicroBatchLimit(micro_batch_tokens)
    update = prepared(trained, pairs, Cursor(1, 0, 1), ranks=ranks, limit=limit)
    gradient = Gradient(trained.model)
    gradient.clear()
    gradient.losses.copy_(accumulate_gradient(trained.model, update, trained.settings.training))
    gradient.sum_over(ranks)
    losses = gradient.losses.double().numpy()
    parts = [parameter.grad.flatten() for parameter in trained.model.parameters() if parameter.grad is not None]
    return np.concatenate([torch.cat(parts).double().numpy(), losses])


def work(rank: int, n_ranks: int, arguments: list[Path]) -> None:
    corpus, config, out = arguments
    ranks = Ranks(rank, n_ranks)
    join(FileStore(str(out / f"store-{n_ranks}"), n_ranks), ranks, timeout=dt.timedelta(seconds=200))
    plain = ["model.dropout=0.0", "model.attention_dropout=0.0", "model.d_model=32"]
    settings = resolve(preset=None, config=config, assignments=plain)
    trained = Trained.new(open_training_data(corpus), settings, device=ranks.device)
    trained.model.train()
    found = {
        "one": gradient_of(ALL, trained, ranks, micro_batch_tokens=10_000),
        "cut": gradient_of(ALL, trained, ranks, micro_batch_tokens=40),
        "three": gradient_of(THREE, trained, ranks, micro_batch_tokens=10_000),
    }
    np.savez(out / f"{rank}-of-{n_ranks}.npz", **found)
    leave()


if __name__ == "__main__":
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    torch.set_num_threads(1)
    for n_ranks in (1, 2, 3, 4):
        children = []
        for rank in range(n_ranks):
            child = os.fork()
            if child == 0:
                work(rank, n_ranks, [Path(argument) for argument in sys.argv[1:]])
                os._exit(0)
            children.append(child)
        for child in children:
            assert os.waitpid(child, 0)[1] == 0
