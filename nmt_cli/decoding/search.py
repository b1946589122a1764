"""Beam search (paper, section 6.1; the algorithm of its reference implementation, tensor2tensor).

All sentences of a batch go together. Each has its own limit and its own end, so that its result does not
depend on its neighbours.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional

from nmt_cli.config import SearchConfig
from nmt_cli.decoding.hypothesis import Hypothesis, length_penalty
from nmt_cli.decoding.top import pick, top
from nmt_cli.errors import ModelError
from nmt_cli.subwords.segmenter import END, PAD

NEVER = float("-inf")


@runtime_checkable
class StepModel(Protocol):
    """What the search needs of a model: B sentences, of each the W hypotheses that are alive."""

    def next_log_probs(self, newest: Int[Tensor, "B W"]) -> Float[Tensor, "B W V"]:
        """Take the newest piece of each hypothesis (the padding symbol at first); return what may follow, in nats.

        The search may write into what it gets.
        """

    def keep(self, sentences: Int[Tensor, " N"], parents: Int[Tensor, "N W2"]) -> None:
        """Go on with these sentences, in rising order, and of each with these of its hypotheses."""


@dataclass
class Beams:
    """The sentences that are still searched; hypotheses stand best first."""

    sentences: Int[Tensor, " B"]
    """Their places in the input."""
    limits: Int[Tensor, " B"]
    """Most pieces of an output, end symbol included."""
    limit_penalties: Float[Tensor, " B"]
    log_probs: Float[Tensor, "B W"]
    ids: Int[Tensor, "B W T"]
    finished_scores: Float[Tensor, "B F"]
    finished_log_probs: Float[Tensor, "B F"]
    finished_ids: Int[Tensor, "B F T"]
    """Without the end symbol, padded at the end."""

    def of(self, which: Int[Tensor, " N"]) -> Beams:
        """Return these sentences only."""
        return Beams(**{name: values[which] for name, values in vars(self).items()})


@torch.no_grad()
def beam_search(
    model: StepModel, limits: Int[Tensor, " B"], config: SearchConfig, *, prefixes: Int[Tensor, "B P"] | None = None
) -> list[list[Hypothesis]]:
    """Return up to n_best hypotheses for each sentence, best first.

    `limits` are the most pieces that each output may have, its end symbol included. Only when no
    hypothesis ended within the limit are cut ones given back, with un-normalised scores. `prefixes`, padded, are
    the pieces that the outputs begin with, whatever they cost.

    Raises:
        ModelError: the model's numbers are not finite.
    """
    answers: list[list[Hypothesis]] = [[] for _ in limits]
    beams: Beams | None = None
    newest = torch.full((len(limits), 1), PAD, device=limits.device)
    while newest.size(0):
        log_probs = model.next_log_probs(newest)
        beams = beams or _start(limits, log_probs.dtype, config)
        begun = None if prefixes is None else prefixes[beams.sentences]
        forbid(log_probs, step=beams.ids.size(-1) + 1, config=config, prefixes=begun)
        beams, parents = _extend(beams, log_probs, config)
        done = _is_done(beams, config)
        for place in done.nonzero().flatten().tolist():
            answers[int(beams.sentences[place])] = _answers(beams, place, config)
        going_on = (~done).nonzero().flatten()
        if len(going_on) < len(done):
            beams = beams.of(going_on)
        newest = beams.ids[:, :, -1]
        if len(going_on):
            model.keep(going_on, parents[going_on])
    return answers


def _start(limits: Int[Tensor, " B"], dtype: torch.dtype, config: SearchConfig) -> Beams:
    """One empty hypothesis alive a sentence, none finished."""
    size, device = len(limits), limits.device
    penalties = [length_penalty(int(n), kind=config.length_penalty, alpha=config.alpha) for n in limits]
    nothing = torch.full((size, config.beam_size), NEVER, dtype=dtype, device=device)
    return Beams(
        sentences=torch.arange(size, device=device),
        limits=limits,
        limit_penalties=torch.tensor(penalties, dtype=dtype, device=device),
        log_probs=torch.zeros(size, 1, dtype=dtype, device=device),
        ids=torch.zeros(size, 1, 0, dtype=torch.long, device=device),
        finished_scores=nothing,
        finished_log_probs=nothing,
        finished_ids=torch.zeros(size, config.beam_size, 0, dtype=torch.long, device=device),
    )


def _extend(beams: Beams, log_probs: Float[Tensor, "B W V"], config: SearchConfig) -> tuple[Beams, Int[Tensor, "B W2"]]:
    """Make all hypotheses one piece longer; return the best, and which each of those alive came from."""
    beam_size, length = config.beam_size, beams.ids.size(-1) + 1
    candidates, pieces, parents = _candidates(beams, log_probs, config)
    ended = pieces == END
    ids = torch.cat([pick(beams.ids, parents), pieces.masked_fill(ended, PAD)[..., None]], dim=-1)

    alive_log_probs, alive = top(candidates.masked_fill(ended, NEVER), min(beam_size, candidates.size(1)))
    penalty = length_penalty(length, kind=config.length_penalty, alpha=config.alpha)
    scores = torch.cat([beams.finished_scores, (candidates / penalty).masked_fill(~ended, NEVER)], dim=1)
    finished_scores, finished = top(scores, beam_size)
    longer = functional.pad(beams.finished_ids, (0, 1), value=PAD)
    extended = Beams(
        sentences=beams.sentences,
        limits=beams.limits,
        limit_penalties=beams.limit_penalties,
        log_probs=alive_log_probs,
        ids=pick(ids, alive),
        finished_scores=finished_scores,
        finished_log_probs=pick(torch.cat([beams.finished_log_probs, candidates], dim=1), finished),
        finished_ids=pick(torch.cat([longer, ids], dim=1), finished),
    )
    return extended, pick(parents, alive)


def _candidates(
    beams: Beams, log_probs: Float[Tensor, "B W V"], config: SearchConfig
) -> tuple[Float[Tensor, "B C"], Int[Tensor, "B C"], Int[Tensor, "B C"]]:
    """Return the best 2 * beam_size extensions: log-probability, newest piece, parent.

    So many, since at most beam_size of them end. At one step all have one length, so that their
    log-probabilities order them as their scores would.
    """
    best, pieces = top(log_probs, min(2 * config.beam_size, log_probs.size(-1)))
    refuse_not_finite(best)
    sums = (beams.log_probs[..., None] + best).flatten(1)
    totals, places = top(sums, min(2 * config.beam_size, sums.size(1)))
    return totals, pieces.flatten(1).gather(1, places), places // best.size(-1)


def forbid(
    log_probs: Float[Tensor, "B W V"], *, step: int, config: SearchConfig, prefixes: Int[Tensor, "B P"] | None
) -> Float[Tensor, "B W V"]:
    """Set to -inf, in place, what may not come at a step (from 1): padding, too early an end, what a prefix is not."""
    log_probs[..., PAD] = NEVER
    if step <= config.min_length:
        log_probs[..., END] = NEVER
    if prefixes is not None and step <= prefixes.size(1):
        wanted = prefixes[:, step - 1]
        others = torch.arange(log_probs.size(-1), device=log_probs.device) != wanted[:, None]
        log_probs.masked_fill_((others & (wanted != PAD)[:, None])[:, None], NEVER)
    return log_probs


def refuse_not_finite(largest: Tensor) -> None:
    """See that the largest log-probabilities of a step are numbers.

    Raises:
        ModelError: they are not.
    """
    if bool(largest.isnan().any()):
        raise ModelError("the model gives probabilities that are not finite; its weights are damaged")


def _is_done(beams: Beams, config: SearchConfig) -> Bool[Tensor, " B"]:
    """Say which sentences are at their limit, or cannot get a better answer by the stop rule.

    `exact` stops when nothing alive can enter the n_best: a log-probability only falls, and the
    penalty is monotonic, so that the best it can reach lies at the next length or at the limit.
    `t2t-best` and `t2t-2017` compare what is reached at the limit with the best finished score, or
    with the worst (here a sentence at a time, there when all of a batch agree).
    """
    length, best = beams.ids.size(-1), beams.log_probs[:, 0]
    done = (beams.limits <= length) | (best == NEVER)
    finished = beams.finished_scores
    at_limit = best / beams.limit_penalties
    match config.stop_rule:
        case "exact":
            soonest = best / length_penalty(length + 1, kind=config.length_penalty, alpha=config.alpha)
            return done | (torch.maximum(soonest, at_limit) <= finished[:, config.n_best - 1])
        case "t2t-best":
            return done | (at_limit < finished[:, 0])
        case "t2t-2017":
            worst = finished.masked_fill(finished == NEVER, float("inf")).amin(dim=1)
            return done | ((at_limit < worst) & (finished[:, 0] > NEVER))


def _answers(beams: Beams, place: int, config: SearchConfig) -> list[Hypothesis]:
    """Return the finished hypotheses of a sentence, or where there are none, those cut at the limit."""
    scores = beams.finished_scores[place].tolist()
    is_cut = scores[0] == NEVER
    log_probs = (beams.log_probs if is_cut else beams.finished_log_probs)[place].tolist()
    all_ids = (beams.ids if is_cut else beams.finished_ids)[place].tolist()
    found = [
        Hypothesis([i for i in ids if i != PAD], log_prob, score, is_cut)
        for ids, log_prob, score in zip(all_ids, log_probs, log_probs if is_cut else scores, strict=True)
        if score > NEVER
    ]
    return found[: config.n_best] or [Hypothesis([], NEVER, NEVER, is_cut=True)]
