"""One update: its gradient over all ranks, and what it changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from nmt_cli.batches.ahead import made_ahead
from nmt_cli.batches.plan import Cursor, Indices
from nmt_cli.batches.prepared import PreparedUpdate, prepare_update
from nmt_cli.decoding.engine import is_out_of_memory
from nmt_cli.model.flops import MultiplyAdds
from nmt_cli.training.gradient import Gradient, accumulate_gradient
from nmt_cli.training.memory import MicroBatchLimit
from nmt_cli.training.packed_loss import kernel_for
from nmt_cli.training.ranks import Ranks
from nmt_cli.training.schedule import learning_rate
from nmt_cli.training.trained import Trained

MOST_AHEAD = 4
"""Updates that are made ready on the CPU while a GPU works."""


class UpdateLoss(NamedTuple):
    """What an update amounts to."""

    smoothed: float
    """Sum over target tokens, in nats; what was minimised."""
    plain: float
    """Sum over target tokens, in nats, without smoothing."""
    source_tokens: int
    target_tokens: int
    positions: int
    """Of both sides that went through the model, padding among them."""
    model_flops: int = 0
    """Arithmetic that the model asks for on these pairs; see `model.flops`."""


class UpdateResult(NamedTuple):
    """What came of an update."""

    loss: UpdateLoss
    learning_rate: float
    gradient_norm: float
    """Before clipping."""
    finite: bool
    """Whether the weights were changed."""


@dataclass(frozen=True)
class TakenUpdate:
    """An update that was taken; on a GPU what came of it may still be under way."""

    update: PreparedUpdate
    learning_rate: float
    outcome: Float[Tensor, 4]
    """Smoothed and plain loss, norm of the gradient, and 1 if all are finite; where the model is."""
    multiply_adds: MultiplyAdds
    positions: int
    """Of both sides that went through the model: none of them padding where sentences are packed."""

    def result(self) -> UpdateResult:
        """Wait for what came of it."""
        smoothed, plain, norm, finite = self.outcome.tolist()
        sources, targets = self.update.source_lengths, self.update.target_lengths
        loss = UpdateLoss(
            smoothed=smoothed,
            plain=plain,
            source_tokens=int(sources.sum()),
            target_tokens=int(targets.sum()),
            positions=self.positions,
            model_flops=self.multiply_adds.training_flops(sources, targets),
        )
        return UpdateResult(loss, self.learning_rate, gradient_norm=norm, finite=bool(finite))


def ready_updates(
    trained: Trained, planned: Iterator[tuple[Indices, Cursor]], *, ranks: Ranks, limit: MicroBatchLimit
) -> Iterator[PreparedUpdate]:
    """Yield planned updates made ready for this rank; for a GPU, ahead of time.

    A CPU has nothing to spare for that.
    """
    updates = (prepared(trained, pairs, cursor, ranks=ranks, limit=limit) for pairs, cursor in planned)
    return made_ahead(updates, most=MOST_AHEAD) if ranks.device.type == "cuda" else updates


def prepared(
    trained: Trained, pairs: Indices, cursor: Cursor, *, ranks: Ranks, limit: MicroBatchLimit
) -> PreparedUpdate:
    """Return an update made ready for this rank."""
    corpus, places = trained.corpus_of_update(pairs, cursor.step)
    return prepare_update(
        corpus,
        places,
        cursor=cursor,
        drawn=pairs,
        micro_batch_tokens=limit.tokens,
        rank=ranks.rank,
        world_size=ranks.world_size,
    )


def take_update(
    trained: Trained,
    gradient: Gradient,
    update: PreparedUpdate,
    *,
    ranks: Ranks,
    limit: MicroBatchLimit,
    warn: Callable[[str], None] | None = None,
) -> TakenUpdate:
    """Change the weights by one update, the same on every rank; leave them if its gradient is not finite.

    When memory runs out on any rank, all cut the update into smaller micro-batches and take it again.

    Raises:
        MachineError: not enough memory for a single pair, or a rank was lost.
    """
    config = trained.settings.training
    while True:
        if update.micro_batch_tokens != limit.tokens:
            update = prepared(trained, update.drawn, update.cursor, ranks=ranks, limit=limit)
        ranks.standing.begins(update.step, update.pairs, update.corpus)
        gradient.clear()
        if not ranks.any_of(not _fits(trained, gradient, update)):
            break
        limit.halve(update)
        if warn is not None:
            warn(
                f"step {update.step:,}: out of memory; at most {limit.tokens:,} positions a side at a time from "
                "here on: equal to the last bit only up to here"
            )
    gradient.sum_over(ranks)
    norm = gradient.norm()
    finite = torch.isfinite(norm) & torch.isfinite(gradient.losses[0])
    if config.clip_norm is not None:
        gradient.clip(norm, config.clip_norm)
    rate = learning_rate(update.step, config, d_model=trained.settings.model.d_model)
    for group in trained.optimizer.param_groups:
        group["lr"] = rate
    # The optimizer itself leaves the weights where this is 1, so that nothing waits for a GPU here.
    trained.optimizer.found_inf = (~finite).float()  # type: ignore[attr-defined]
    trained.optimizer.step()
    if trained.average is not None:
        trained.average.follow(trained.model, step=update.step)
    outcome = torch.stack([*gradient.losses, norm, finite.to(norm.dtype)])
    multiply_adds = MultiplyAdds.of(trained.settings.model, target_vocab_size=trained.pieces.target_vocab_size)
    return TakenUpdate(update, rate, outcome, multiply_adds, _positions(trained, update))


def _positions(trained: Trained, update: PreparedUpdate) -> int:
    if kernel_for(trained.model) is None:
        return update.positions
    return int(update.source_lengths.sum() + update.target_lengths.sum())


def _fits(trained: Trained, gradient: Gradient, update: PreparedUpdate) -> bool:
    """Work out this rank's share of the gradient; tell whether there was enough memory."""
    try:
        gradient.losses.copy_(accumulate_gradient(trained.model, update, trained.settings.training))
    except (MemoryError, RuntimeError) as error:
        if not is_out_of_memory(error):
            raise
    else:
        return True
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    return False
