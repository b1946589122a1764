"""The exponential moving average of the weights."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import torch
from torch import Tensor, nn


class MovingAverage:
    """Weights that follow those of a model slowly: a <- d a + (1 - d) w after each update.

    The decay d is min(decay, (1 + step) / (10 + step)), so that the weights that training began with are
    soon forgotten.
    """

    def __init__(self, model: nn.Module, decay: float) -> None:
        """Begin with the weights of a model as they are."""
        self._decay = decay
        self.weights: dict[str, Tensor] = {
            name: parameter.detach().clone() for name, parameter in model.named_parameters()
        }

    def begin(self, model: nn.Module) -> None:
        """Take the weights of a model as they are."""
        for name, parameter in model.named_parameters():
            self.weights[name].copy_(parameter.detach())

    def follow(self, model: nn.Module, *, step: int) -> None:
        """Take in the weights after a step."""
        decay = min(self._decay, (1 + step) / (10 + step))
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                self.weights[name].lerp_(parameter, 1 - decay)

    @contextlib.contextmanager
    def shown_by(self, model: nn.Module) -> Iterator[None]:
        """Have the model hold the average for the block."""
        parameters = dict(model.named_parameters())
        trained = {name: parameter.data for name, parameter in parameters.items()}
        for name, parameter in parameters.items():
            parameter.data = self.weights[name]
        try:
            yield
        finally:
            for name, parameter in parameters.items():
                parameter.data = trained[name]
