"""A small Transformer for the tests of this room."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from nmt_cli.config import ModelConfig
from nmt_cli.model.initialisation import initialise
from nmt_cli.model.transformer import Transformer

SMALL = {"n_encoder_layers": 2, "n_decoder_layers": 2, "d_model": 16, "d_ff": 32, "n_heads": 4, "dropout": 0.0}


def small_model(*, vocab_size: int = 30, target_vocab_size: int | None = None, **changes: object) -> Transformer:
    config = ModelConfig.model_validate(SMALL | changes)
    model = Transformer(config, source_vocab_size=vocab_size, target_vocab_size=target_vocab_size or vocab_size)
    initialise(model, seed=5)
    return model.eval()


@pytest.fixture(name="small_model")
def small_model_fixture() -> Callable[..., Transformer]:
    torch.manual_seed(3)
    return small_model
