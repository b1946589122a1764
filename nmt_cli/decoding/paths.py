"""One path through the model for each answer: the most probable piece each step, or a drawn one.

Sentences leave when all their paths have ended; what becomes of one does not depend on the others.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from nmt_cli.config import SearchConfig
from nmt_cli.decoding.hypothesis import Hypothesis, length_penalty
from nmt_cli.decoding.search import NEVER, StepModel, forbid, refuse_not_finite
from nmt_cli.subwords.segmenter import END, PAD

Choose = Callable[[Float[Tensor, "B W V"], Int[Tensor, " B"], int], Int[Tensor, "B W"]]
"""Return a piece for each path, of the sentences at these places, at a step (from 1)."""


def greedy_search(
    model: StepModel, limits: Int[Tensor, " B"], config: SearchConfig, *, prefixes: Int[Tensor, "B P"] | None = None
) -> list[list[Hypothesis]]:
    """Return the one hypothesis of each sentence that takes the most probable piece each step.

    `limits` and `prefixes` are those of `beam_search`. Of equals, the lower piece.

    Raises:
        ModelError: the model's numbers are not finite.
    """
    return _follow(
        model, limits, config, lambda log_probs, _places, _step: log_probs.argmax(-1), n_paths=1, prefixes=prefixes
    )


def sample(
    model: StepModel,
    limits: Int[Tensor, " B"],
    config: SearchConfig,
    *,
    keys: Sequence[str],
    prefixes: Int[Tensor, "B P"] | None = None,
) -> list[list[Hypothesis]]:
    """Return n_best drawn outputs of each sentence, the more probable first.

    Pieces are drawn from the model's distribution at `temperature`, of which the `top_k` most probable and the
    fewest that together have a mass of `top_p` are kept. A draw depends on the seed, on the sentence's key, on
    which of its outputs it is, and on the step; and so not on what else is translated.

    Raises:
        ModelError: the model's numbers are not finite.
    """

    def choose(log_probs: Float[Tensor, "B W V"], places: Int[Tensor, " B"], step: int) -> Int[Tensor, "B W"]:
        kept = filtered(log_probs / config.temperature, top_k=config.top_k, top_p=config.top_p)
        mass = kept.double().softmax(dim=-1).cumsum(dim=-1)
        drawn = [
            [uniform(f"{config.seed}/{keys[place]}/{number}/{step}") for number in range(log_probs.size(1))]
            for place in places.tolist()
        ]
        wanted = torch.tensor(drawn, dtype=mass.dtype, device=mass.device)[..., None] * mass[..., -1:]
        # The first whose mass is above: never one that was left out, whose mass adds nothing.
        return torch.searchsorted(mass, wanted, right=True)[..., 0]

    return _follow(model, limits, config, choose, n_paths=config.n_best, prefixes=prefixes)


def filtered(logits: Float[Tensor, "*rows V"], *, top_k: int, top_p: float) -> Float[Tensor, "*rows V"]:
    """Return the logits with -inf at pieces that are not drawn; top_k 0 and top_p 1 leave all.

    `top_k` leaves the k largest, and what equals the last of them; `top_p` the largest until their probabilities,
    as they are after that, sum to p (Holtzman et al. 2020), one at least.
    """
    if 0 < top_k < logits.size(-1):
        smallest = logits.topk(top_k, dim=-1).values[..., -1:]
        logits = logits.masked_fill(logits < smallest, NEVER)
    if top_p < 1:
        ordered = logits.sort(dim=-1, descending=True)
        probabilities = ordered.values.double().softmax(dim=-1)
        before = probabilities.cumsum(dim=-1) - probabilities
        left_out = (before >= top_p).scatter(-1, ordered.indices, before >= top_p)
        left_out.scatter_(-1, ordered.indices[..., :1], value=False)
        logits = logits.masked_fill(left_out, NEVER)
    return logits


def uniform(key: str) -> float:
    """Return a number from 0 on and below 1 that a key alone decides."""
    digest = hashlib.sha256(key.encode("utf-8")).digest()
    return (int.from_bytes(digest[:8], "big") >> 11) / (1 << 53)


@torch.no_grad()
def _follow(
    model: StepModel,
    limits: Int[Tensor, " B"],
    config: SearchConfig,
    choose: Choose,
    *,
    n_paths: int,
    prefixes: Int[Tensor, "B P"] | None,
) -> list[list[Hypothesis]]:
    answers: list[list[Hypothesis]] = [[] for _ in limits]
    places = torch.arange(len(limits), device=limits.device)
    newest = torch.full((len(limits), 1), PAD, device=limits.device)
    ids = newest.new_empty(len(limits), n_paths, 0)
    ended = torch.zeros(len(limits), n_paths, dtype=torch.bool, device=limits.device)
    totals: Float[Tensor, "B W"] | None = None
    step = 0
    while len(places):
        step += 1
        log_probs = model.next_log_probs(newest).expand(-1, n_paths, -1)
        own = log_probs if n_paths == newest.size(1) else log_probs.clone()
        refuse_not_finite(own.amax(dim=-1))
        allowed = forbid(own, step=step, config=config, prefixes=None if prefixes is None else prefixes[places])
        pieces = choose(allowed, places, step).masked_fill(ended, PAD)
        gained = allowed.gather(-1, pieces[..., None])[..., 0].masked_fill(ended, 0.0)
        totals = gained if totals is None else totals + gained
        ended = ended | (pieces == END)
        ids = torch.cat([ids, pieces[..., None]], dim=-1)
        done = ended.all(dim=1) | (limits[places] <= step)
        for row in done.nonzero().flatten().tolist():
            answers[int(places[row])] = _answers(ids[row], totals[row], ended[row], config)
        on = (~done).nonzero().flatten()
        model_rows = newest.size(1)
        places, ids, ended, totals = places[on], ids[on], ended[on], totals[on]
        newest = ids[..., -1]
        if len(on):
            parents = torch.arange(n_paths, device=limits.device).clamp(max=model_rows - 1)
            model.keep(on, parents.expand(len(on), -1))
    return answers


def _answers(
    ids: Int[Tensor, "W T"], totals: Float[Tensor, " W"], ended: Tensor, config: SearchConfig
) -> list[Hypothesis]:
    found = []
    for path, log_prob, has_ended in zip(ids.tolist(), totals.tolist(), ended.tolist(), strict=True):
        pieces = [piece for piece in path if piece not in {PAD, END}]
        length = len(pieces) + 1
        penalty = length_penalty(length, kind=config.length_penalty, alpha=config.alpha) if has_ended else 1.0
        found.append(Hypothesis(pieces, log_prob, log_prob / penalty, is_cut=not has_ended))
    return sorted(found, key=lambda hypothesis: (hypothesis.is_cut, -hypothesis.score))
