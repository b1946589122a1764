"""Forced scoring: how probable given targets are."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from nmt_cli.model.transformer import Transformer
from nmt_cli.subwords.segmenter import PAD


@torch.no_grad()
def forced_log_probs(
    models: Sequence[Transformer], source: Int[Tensor, "B S"], target: Int[Tensor, "B T"]
) -> Float[Tensor, " B"]:
    """Return the log-probability of each padded target, end symbols included, in nats.

    Several models are an ensemble, the mean of their probabilities at each position.
    """
    target_in = torch.cat([torch.full_like(target[:, :1], PAD), target[:, :-1]], dim=1)
    each = []
    for model in models:
        logits = model.logits(model(source, target_in))
        log_probs = logits.log_softmax(dim=-1, dtype=torch.promote_types(logits.dtype, torch.float32))
        each.append(log_probs.gather(-1, target[..., None])[..., 0])
    pieces = torch.stack(each).logsumexp(dim=0) - math.log(len(models))
    return pieces.masked_fill(target == PAD, 0.0).sum(dim=1)
