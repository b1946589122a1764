"""What ranks begin with."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from nmt_cli.batches.training_data import open_training_data
from nmt_cli.training.ranks import Ranks
from nmt_cli.training.state import Progress
from nmt_cli.training.trained import Trained, share_state


@pytest.mark.parametrize(
    ("given", "stored", "limit"),
    [
        (None, None, 4_096),
        (None, 37, 37),  # memory ran out before
        (None, 131_072, 4_096),  # the run comes from a GPU
        (150, None, 150),
        (150, 37, 37),
        (9_000, None, 9_000),
    ],
)
def test_on_a_cpu_micro_batches_are_as_large_as_set_or_of_4096_positions_or_as_memory_allowed(
    toy: Any,  # noqa: ANN401
    given: int | None,
    stored: int | None,
    limit: int,
) -> None:
    settings = toy.settings()
    training = settings.training.model_copy(update={"micro_batch_tokens": given})
    settings = settings.model_copy(update={"training": training})
    trained = Trained.new(open_training_data(toy.corpus), settings, device=torch.device("cpu"))
    progress, found = share_state(trained, Progress(step=3, micro_batch_tokens=stored), Ranks())
    assert (progress.step, found.tokens) == (3, limit)
