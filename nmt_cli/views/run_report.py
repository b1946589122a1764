"""A run held against the paper, line by line."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from nmt_cli.training.cost import Cost, scientific
from nmt_cli.views.paper import (
    COMPARABLE,
    PAIRS,
    PUBLISHED,
    SETTINGS,
    TOKENS_PER_UPDATE,
    VOCABULARY,
    PaperModel,
    paper_flops,
)
from nmt_cli.views.run_facts import RunFacts

Verdict = Literal["equal", "about", "differs", ""]
ABOUT = 0.05
"""Share by which a figure may be off that the paper calls about so much."""
ROUNDING = 0.5
"""Of a count that is printed in millions."""
BLEU_KEYS = ("sacrebleu", "bleu_tokenised", "bleu_tokenised_split", "bleu_paper")
UNKNOWN = "-"


@dataclass(frozen=True)
class Line:
    """One thing that a run and the paper have in common, or not."""

    section: str
    name: str
    ours: str
    paper: str = ""
    where: str = ""
    """Section of the paper."""
    verdict: Verdict = ""


@dataclass(frozen=True)
class RunReport:
    """The lines, and the model of the paper that they are held against."""

    run: str
    against: PaperModel
    target_language: str
    lines: tuple[Line, ...]

    def count(self, verdict: Verdict) -> int:
        """Return how many lines came out so."""
        return sum(line.verdict == verdict for line in self.lines)


def report_of(
    facts: RunFacts,
    *,
    against: PaperModel | None = None,
    scores: Mapping[str, Any] | None = None,
    sustained_tflops: float | None = None,
) -> RunReport:
    """Return the report; without `against`, held against the paper's model that differs in fewer settings.

    `scores` is what `nmt score --json` printed; `sustained_tflops` the rate of one device.
    """
    language = "de" if facts.last is None else facts.last.description.target_language
    model = against or nearest(facts, language)
    rate = sustained_tflops or facts.settings.machine.sustained_tflops
    lines = [
        *setting_lines(facts, model, language),
        *size_lines(facts, model, language),
        *averaging_lines(facts, model),
        *score_lines(facts, model, language, scores),
        *cost_lines(facts, model, rate),
        *digest_lines(facts),
    ]
    return RunReport(str(facts.path), model, language, tuple(lines))


def nearest(facts: RunFacts, language: str) -> PaperModel:
    """Return the paper's model from which fewer settings differ."""

    def differences(model: PaperModel) -> int:
        return sum(line.verdict == "differs" for line in setting_lines(facts, model, language))

    return min(("base", "big"), key=differences)


def setting_lines(facts: RunFacts, model: PaperModel, language: str) -> list[Line]:
    """Return a line for each setting that the paper, or its implementation, decides.

    A model that is named besides searches by its own settings.
    """
    settings, found = facts.settings, []
    if facts.average is not None:
        settings = settings.model_copy(update={"search": facts.average.model.description.search})
    for expected in SETTINGS:
        section, _, name = expected.setting.partition(".")
        ours = getattr(getattr(settings, section), name)
        if expected.setting == "training.precision":
            ours = facts.precision or ours
        paper = expected.value(model, language)
        verdict: Verdict = "equal" if ours == paper else "differs"
        found.append(Line(section, name, as_text(ours), as_text(paper), expected.where, verdict))
    return found


def size_lines(facts: RunFacts, model: PaperModel, language: str) -> list[Line]:
    """Return parameters, vocabulary, pairs, tokens per update and steps."""
    published, found = PUBLISHED[model], []
    if facts.n_parameters is not None:
        off = abs(facts.n_parameters / 1e6 - published.million_parameters)
        is_about = off <= ABOUT * published.million_parameters
        verdict: Verdict = "equal" if off <= ROUNDING else "about" if is_about else "differs"
        found.append(
            Line(
                "size", "parameters", f"{facts.n_parameters:,}", f"{published.million_parameters}M", "table 3", verdict
            )
        )
    if facts.last is not None:
        description = facts.last.description
        for side, size in (("source", description.source_vocab_size), ("target", description.target_vocab_size)):
            found.append(near("size", f"{side} vocabulary", size, VOCABULARY.get(language), "5.1"))
    if (plan := facts.plan) is not None:
        found += [
            near("size", "training pairs", plan.pairs, PAIRS.get(language), "5.1"),
            near("size", "source tokens an update", plan.source_tokens, TOKENS_PER_UPDATE, "5.1"),
            near("size", "target tokens an update", plan.target_tokens, TOKENS_PER_UPDATE, "5.1"),
        ]
    steps = 0 if facts.last is None else facts.last.description.step
    wanted = next(one.value(model, language) for one in SETTINGS if one.setting == "training.max_steps")
    found.append(
        Line("size", "steps done", as_text(steps), as_text(wanted), "5.2", "equal" if steps == wanted else "differs")
    )
    if facts.plan is not None:
        found.append(Line("size", "epochs done", f"{steps / max(facts.plan.updates, 1):.1f}"))
    return found


def averaging_lines(facts: RunFacts, model: PaperModel) -> list[Line]:
    """Return what the model that was scored is the mean of."""
    published = PUBLISHED[model]
    paper, where = f"mean of the last {published.averaged}, {published.steps_apart:,} steps apart", "6.1"
    if facts.average is None:
        return [Line("averaging", "model", "no model named (--model)", paper, where)]
    steps, average = facts.average.steps, facts.average.model
    apart = sorted({later - earlier for earlier, later in itertools.pairwise(steps)})
    ours = (
        f"mean of {len(steps)}, {' and '.join(f'{gap:,}' for gap in apart)} steps apart, the last of step {steps[-1]:,}"
        if len(steps) > 1
        else f"one checkpoint, of step {steps[0]:,}"
    )
    is_equal = (len(steps), apart) == (published.averaged, [published.steps_apart])
    found = [Line("averaging", average.path.name, ours, paper, where, "equal" if is_equal else "differs")]
    if not facts.average.is_of_run:
        found.append(Line("averaging", "origin", "other data or sizes than this run's", verdict="differs"))
    return found


def score_lines(facts: RunFacts, model: PaperModel, language: str, scores: Mapping[str, Any] | None) -> list[Line]:
    """Return the last validation, and the protocols of BLEU; only one of them has the paper's figure beside it."""
    published, found = PUBLISHED[model], []
    perplexity, bleu = published.development if language == "de" else (None, None)
    validation = facts.validation
    if "validation_perplexity" in validation:
        paper = "" if perplexity is None else f"{perplexity} on newstest2013"
        ours = f"{validation['validation_perplexity']:.2f} at step {validation['step']:,}"
        found.append(Line("scores", "validation perplexity", ours, paper, "table 3; of its own pieces"))
        ours = f"{validation['validation_bleu']:.2f} [{validation['validation_bleu_signature']}]"
        paper = "" if bleu is None else f"{bleu} on newstest2013"
        found.append(Line("scores", "validation sacreBLEU", ours, paper, "table 3; another protocol"))
    for key in BLEU_KEYS if scores is not None else ():
        result = (scores or {}).get(key)
        if result is None:
            continue
        is_comparable = key == COMPARABLE.get(language) and result["signature"].startswith("nrefs:1|case:mixed")
        paper = f"{published.bleu[language]} on newstest2014" if is_comparable else "not comparable"
        name = {"sacrebleu": "sacreBLEU"}.get(key, key.replace("bleu_", "BLEU ").replace("_", " + "))
        ours = f"{result['score']:.2f} [{result['signature']}]"
        found.append(Line("scores", name, ours, paper, "table 2" if is_comparable else ""))
    if scores is None:
        found.append(
            Line("scores", "BLEU", "no scores named (--scores)", str(published.bleu.get(language, "")), "table 2")
        )
    return found


def cost_lines(facts: RunFacts, model: PaperModel, rate: float | None) -> list[Line]:
    """Return the cost as the paper counts it, and the model's own arithmetic."""
    if not facts.state:
        return [Line("cost", "training", UNKNOWN, scientific(paper_flops(model)), "table 2")]
    cost = Cost(float(facts.state["device_seconds"]), int(facts.state["model_flops"]), rate)
    hours = f"{cost.device_seconds / 3600:,.1f} device hours"
    counted = (
        f"{hours}; state the rate of a device (--sustained-tflops)"
        if cost.paper_flops is None
        else f"{scientific(cost.paper_flops)} = {hours} x {rate:g} TFLOP/s"
    )
    paper = f"{scientific(paper_flops(model))} = {PUBLISHED[model].gpu_hours:g} GPU hours x 9.5 TFLOP/s"
    return [
        Line("cost", "time x devices x rate", counted, paper, "table 2, 6.1"),
        Line(
            "cost",
            "model FLOPs",
            scientific(cost.model_flops),
            scientific(PUBLISHED[model].model_flops),
            "worked out from 5.1, 5.2 and table 3",
        ),
    ]


def digest_lines(facts: RunFacts) -> list[Line]:
    """Return the SHA-256 of all that made the run."""
    found: list[Line] = []
    named = None if facts.average is None else facts.average.model
    for name, model in (("last checkpoint", facts.last), ("model", named)):
        if model is not None:
            found += [Line("digests", f"{name}: {file}", digest) for file, digest in model.digests.items()]
    if facts.last is not None:
        provenance = facts.last.description.provenance
        found.append(Line("digests", "data the run names", as_text(provenance.get("data"))))
        found += [Line("digests", f"version of {name}", as_text(provenance.get(name))) for name in ("nmt", "torch")]
    found += [
        Line("digests", name, digest, verdict="" if is_same else "differs") for name, digest, is_same in facts.data
    ]
    return found


def near(section: str, name: str, ours: int, paper: int | None, where: str) -> Line:
    """Return a line about a figure that the paper gives as about so much."""
    if paper is None:
        return Line(section, name, f"{ours:,}")
    verdict: Verdict = "equal" if ours == paper else "about" if abs(ours - paper) <= ABOUT * paper else "differs"
    return Line(section, name, f"{ours:,}", f"about {paper:,}", where, verdict)


def as_text(value: object) -> str:
    """Return a value as a report shows it."""
    match value:
        case None:
            return "none"
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}"
        case float():
            return f"{value:g}"
        case list() | tuple():
            return ", ".join(as_text(one) for one in value)
    return str(value)


def scores_in(value: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the scores in what `nmt score --json` printed for one system, or None where it is something else."""
    scores = value.get("scores")
    if not isinstance(scores, Mapping):
        return None
    complete = all(isinstance(one, Mapping) and {"score", "signature"} <= one.keys() for one in scores.values())
    return scores if complete else None


def sections_of(lines: Sequence[Line]) -> dict[str, list[Line]]:
    """Return the lines by section, in their order."""
    found: dict[str, list[Line]] = {}
    for line in lines:
        found.setdefault(line.section, []).append(line)
    return found
