"""A Transformer out of a model folder."""

from __future__ import annotations

import torch

from nmt_cli.errors import ModelError
from nmt_cli.model.transformer import Transformer
from nmt_cli.model_folder import ModelFolder, Weights


def load_transformer(folder: ModelFolder, *, device: torch.device | str = "cpu") -> Transformer:
    """Return the model of a folder, ready to translate (dropout off).

    Raises:
        ModelError: tensors are missing, left over, or of another shape; all are named.
    """
    description = folder.description
    with torch.device("meta"):
        model = Transformer(
            description.model,
            source_vocab_size=description.source_vocab_size,
            target_vocab_size=description.target_vocab_size,
        )
    weights = folder.weights()
    refuse_misfit(model, weights, where=str(folder.path))
    model.to_empty(device=device)
    fill(model, weights, where=str(folder.path))
    return model.eval()


def fill(model: Transformer, weights: Weights, *, where: str) -> None:
    """Copy tensors into a model.

    Raises:
        ModelError: tensors are missing, left over, or of another shape; all are named.
    """
    refuse_misfit(model, weights, where=where)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(torch.from_numpy(weights[name]))


def refuse_misfit(model: Transformer, weights: Weights, *, where: str) -> None:
    """Check that tensors are those of a model.

    Raises:
        ModelError: tensors are missing, left over, or of another shape; all are named.
    """
    parameters = dict(model.named_parameters())
    problems = [f"{name} is missing" for name in parameters.keys() - weights.keys()]
    problems += [f"{name} is not known" for name in weights.keys() - parameters.keys()]
    problems += [
        f"{name} is {list(weights[name].shape)}, not {list(parameter.shape)}"
        for name, parameter in parameters.items()
        if name in weights and weights[name].shape != tuple(parameter.shape)
    ]
    if problems:
        raise ModelError(f"{where}: weights do not fit their model: {'; '.join(sorted(problems))}")
