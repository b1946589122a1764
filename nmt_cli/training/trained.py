"""What is being trained, and with what."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor, nn

from nmt_cli.batches.corpus import EncodedCorpus
from nmt_cli.batches.plan import MICRO_BATCH_TOKENS, Indices
from nmt_cli.batches.sampled import SubwordSampler, subword_sampler
from nmt_cli.batches.training_data import TrainingData
from nmt_cli.config import Settings, TrainingConfig
from nmt_cli.model.initialisation import initialise
from nmt_cli.model.transformer import Transformer
from nmt_cli.training.memory import MicroBatchLimit, measured_limit
from nmt_cli.training.moving_average import MovingAverage
from nmt_cli.training.precision import work_in
from nmt_cli.training.ranks import Ranks
from nmt_cli.training.state import Progress

ADAM_STATE = ("step", "exp_avg", "exp_avg_sq")


@dataclass(frozen=True)
class Trained:
    """A model with all that changes while it is trained, on one rank."""

    model: Transformer
    optimizer: torch.optim.Adam
    pieces: TrainingData
    settings: Settings
    average: MovingAverage | None = None
    """Of the weights, where the settings ask for one; checkpoints and validations have it in their place."""

    @classmethod
    def new(cls, pieces: TrainingData, settings: Settings, *, device: torch.device) -> Trained:
        """Return a model with the weights that its seed draws, and an optimizer that has seen nothing."""
        model = Transformer(
            settings.model, source_vocab_size=pieces.source_vocab_size, target_vocab_size=pieces.target_vocab_size
        )
        initialise(model, seed=settings.training.seed)
        model.to(device)
        work_in(model, settings.training.precision)
        decay = settings.training.ema_decay
        average = None if decay is None else MovingAverage(model, decay)
        return cls(model, make_optimizer(model, settings.training), pieces, settings, average)

    @cached_property
    def corpus(self) -> EncodedCorpus:
        """The pairs that it is trained on."""
        return self.pieces.train_split()

    @cached_property
    def _sampler(self) -> SubwordSampler | None:
        return subword_sampler(self.pieces, self.settings.training)

    def corpus_of_update(self, pairs: Indices, step: int) -> tuple[EncodedCorpus, Indices]:
        """Return a corpus and the places in it of an update's pairs: as they are stored, or cut anew for this step."""
        if self._sampler is None:
            return self.corpus, pairs
        return self._sampler.cut_update_anew(self.corpus, pairs, step=step)

    def shown(self) -> contextlib.AbstractContextManager[None]:
        """Have the model hold the weights that checkpoints get, for a block."""
        return contextlib.nullcontext() if self.average is None else self.average.shown_by(self.model)

    def begin_average(self) -> None:
        """Have the average, if any, begin with the weights as they are."""
        if self.average is not None:
            self.average.begin(self.model)

    def state(self) -> dict[str, Tensor]:
        """Return by name all tensors of the state that are not the weights of a checkpoint."""
        parameters = dict(self.model.named_parameters())
        tensors = {
            f"{key}.{name}": self.optimizer.state[parameter][key]
            for name, parameter in parameters.items()
            for key in ADAM_STATE
        }
        if self.average is not None:
            tensors |= {f"weight.{name}": parameter.data for name, parameter in parameters.items()}
        return tensors

    def all_tensors(self) -> list[Tensor]:
        """Return all tensors of the state in a fixed order."""
        averaged = [] if self.average is None else list(self.average.weights.values())
        return [parameter.data for parameter in self.model.parameters()] + list(self.state().values()) + averaged


def make_optimizer(model: nn.Module, config: TrainingConfig) -> torch.optim.Adam:
    """Return Adam as in section 5.3; the loop sets its rate each step."""
    optimizer = torch.optim.Adam(
        model.parameters(),
        lr=0.0,
        betas=(config.adam_beta1, config.adam_beta2),
        eps=config.adam_epsilon,
        fused=True,
    )
    for parameter in model.parameters():
        optimizer.state[parameter] = {
            "step": torch.zeros((), device=parameter.device),
            "exp_avg": torch.zeros_like(parameter),
            "exp_avg_sq": torch.zeros_like(parameter),
        }
    return optimizer


def has_moved(progress: Progress, device: torch.device) -> bool:
    """Tell whether a run comes from another kind of device."""
    return progress.device not in {None, device.type}


def share_state(trained: Trained, progress: Progress, ranks: Ranks) -> tuple[Progress, MicroBatchLimit]:
    """Give the other ranks what the lead begins with; return how far it is, and its limit, on every rank.

    A limit that was found on another kind of device does not count on this one.

    Raises:
        LostRankError: a rank is gone.
    """
    ranks.follow_lead_(trained.all_tensors())
    numbers = {name: ranks.lead_says(getattr(progress, name)) for name in ("step", "epoch", "update_in_epoch")}
    config = trained.settings.training
    stored = None if has_moved(progress, ranks.device) else progress.micro_batch_tokens
    on_cpu = ranks.device.type == "cpu"
    if stored is not None and progress.device is None and on_cpu and config.micro_batch_tokens is None:
        stored = min(stored, MICRO_BATCH_TOKENS)  # what a GPU had room for, if it was one, is too much
    limit = ranks.lead_says(stored or config.micro_batch_tokens or 0)
    if limit == 0 and not on_cpu:
        limit = ranks.least_of(measured_limit(trained.model, max_length=config.max_length))
    return progress.model_copy(update=numbers), MicroBatchLimit(limit or MICRO_BATCH_TOKENS)
