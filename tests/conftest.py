"""A small model with random weights, as a folder and in memory; its outputs are nonsense but decided."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from nmt_cli.model.transformer import Transformer

# The tensors of tests are small, and several tests run at a time; torch reads this when it is imported,
# here and in each program that a test starts.
os.environ["OMP_NUM_THREADS"] = "1"
# Models converted in tests stay out of the user's cache; what a worker of pytest inherits, it shares.
os.environ.setdefault("NMT_CACHE", tempfile.mkdtemp(prefix="nmt-tests-"))

WORDS = [
    *("the", "a", "dog", "cat", "house", "river", "bridge", "child", "teacher", "sees", "finds", "opens", "sings"),
    *("quickly", "slowly", "red", "green", "old", "new", "under", "over", "with", "without", "between", "before"),
    *("train", "ticket", "morning", "evening", "bread", "water", "window", "garden", "letter", "walks", "after"),
]
TEXT = [" ".join(WORDS[(i * step + j) % len(WORDS)] for j in range(4 + i % 9)) for i in range(300) for step in (1, 7)]
SIZE = {"n_encoder_layers": 2, "n_decoder_layers": 2, "d_model": 32, "d_ff": 64, "n_heads": 4, "dropout": 0.1}


@pytest.fixture(scope="session")
def random_transformer() -> Callable[..., Transformer]:
    """Give what makes models in evaluation mode whose probabilities are far from uniform."""
    return _random_transformer


def _random_transformer(*, vocab_size: int, seed: int = 2, **changes: object) -> Transformer:
    import torch

    from nmt_cli.config import ModelConfig
    from nmt_cli.model.initialisation import initialise
    from nmt_cli.model.transformer import Transformer
    from nmt_cli.subwords.segmenter import END

    config = ModelConfig.model_validate(SIZE | {"tying": "none"} | changes)
    model = Transformer(config, source_vocab_size=vocab_size, target_vocab_size=vocab_size)
    initialise(model, seed=seed)
    ids = torch.randint(3, vocab_size, (20, 30), generator=torch.Generator().manual_seed(seed))
    with torch.no_grad():
        model.output.weight.mul_(3.0)
        model.target_embedding.weight.mul_(0.5)
        for layer in model.decoder_layers:
            layer.cross_attention.query.weight.mul_(3.0)
            layer.cross_attention.output.weight.mul_(2.0)
        # Without this push some would never end, and with more of it most would end at once.
        model.output.weight[END] += 0.2 * model.eval()(ids, ids).mean(dim=(0, 1))
    return model


@pytest.fixture(scope="session")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model folder as `nmt train` writes it, with subwords learned on a few made-up sentences."""
    from nmt_cli.config import SearchConfig, TextConfig
    from nmt_cli.model_folder import ModelDescription, write_model_folder
    from nmt_cli.subwords.learning import learn_subwords

    folder = tmp_path_factory.mktemp("model")
    subwords = tmp_path_factory.mktemp("subwords") / "subwords.model"
    size = learn_subwords(TEXT, subwords, vocab_size=360)
    model = _random_transformer(vocab_size=size)
    description = ModelDescription(
        source_language="en",
        target_language="de",
        source_vocab_size=size,
        target_vocab_size=size,
        model=model.config,
        search=SearchConfig(beam_size=2, max_extra=3),
        text=TextConfig(),
        step=1,
    )
    weights = {name: parameter.detach().numpy() for name, parameter in model.named_parameters()}
    write_model_folder(folder, weights=weights, description=description, subwords={"subwords.model": subwords})
    return folder
