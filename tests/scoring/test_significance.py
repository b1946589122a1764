"""Intervals and tests between systems, against sacreBLEU's own, brute force, and numbers worked by hand."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER
from sacrebleu.significance import PairedTest

from nmt_cli.scoring.line_statistics import LineStatistics, line_statistics
from nmt_cli.scoring.scores import score_translations
from nmt_cli.scoring.significance import SEED, compared, interval, resampled

KEYS = {"sacrebleu": "BLEU", "chrf2": "chrF2", "ter": "TER"}
METRICS = {"BLEU": BLEU, "chrF2": CHRF, "TER": TER}


def damaged(lines: list[str], share: float, seed: int) -> list[str]:
    """Return lines in which a share of the words is another one of the text."""
    draw = random.Random(seed)  # noqa: S311
    words = " ".join(lines).split()
    return [" ".join(draw.choice(words) if draw.random() < share else word for word in line.split()) for line in lines]


def a_text(n_lines: int, seed: int) -> list[str]:
    draw = random.Random(seed)  # noqa: S311
    words = [f"{a}{b}" for a in ("ba", "du", "ki", "lo", "me") for b in ("", "n", "rst", "-x", ",")]
    return [" ".join(draw.choices(words, k=draw.randint(3, 12))) + "." for _ in range(n_lines)]


REFERENCES = [a_text(50, 1), damaged(a_text(50, 1), 0.3, 2)]
FIRST, SECOND = damaged(REFERENCES[0], 0.35, 3), damaged(REFERENCES[0], 0.3, 5)


def statistics(hypotheses: list[str], *references: list[str], lowercase: bool = False) -> dict[str, LineStatistics]:
    found = score_translations(hypotheses, *references, target_language="de", lowercase=lowercase)
    return {
        result.key: line_statistics(
            result, hypotheses, *references, target_language="de", tokeniser="13a", lowercase=lowercase
        )
        for result in found.results
    }


@pytest.mark.parametrize("n_references", [1, 2])
@pytest.mark.parametrize("lowercase", [False, True])
def test_the_rows_of_the_lines_sum_to_the_score_of_every_protocol(n_references: int, *, lowercase: bool) -> None:
    references = REFERENCES[:n_references]
    hypotheses = [line.title() for line in FIRST[:-2]] + ["", "xx"]
    scores = score_translations(hypotheses, *references, target_language="de", lowercase=lowercase)
    rows = statistics(hypotheses, *references, lowercase=lowercase)
    assert {result.key: rows[result.key].score for result in scores.results} == pytest.approx(
        {result.key: result.score for result in scores.results}, abs=1e-9
    )


@pytest.mark.parametrize(
    ("hypotheses", "references"),
    [
        (["a b x c d"], ["a b y c d"]),
        (["a"], ["a"]),
        (["x y z w"], ["a b c d"]),
        (["", ""], ["a b", ""]),
        (["a b"], [""]),
        ([""], [""]),
    ],
    ids=["smoothed", "one word", "no match", "empty", "empty reference", "both empty"],
)
def test_lines_without_matches_or_words_give_what_sacrebleu_gives(hypotheses: list[str], references: list[str]) -> None:
    rows = statistics(hypotheses, references)
    for key, name in KEYS.items():
        theirs = METRICS[name]().corpus_score(hypotheses, [references]).score
        assert rows[key].score == pytest.approx(theirs, abs=1e-9), key


LINE = st.lists(st.sampled_from(["a", "B", "b.", "c-d", "„c“", "3,5", "%"]), max_size=7).map(" ".join)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(LINE, LINE, LINE), min_size=1, max_size=4))
def test_any_lines_are_scored_alike_by_sums_by_sacrebleu_and_by_the_protocols(
    lines: list[tuple[str, str, str]],
) -> None:
    hypotheses, *references = ([line[side] for line in lines] for side in range(3))
    scores = {
        result.key: result.score for result in score_translations(hypotheses, *references, target_language="de").results
    }
    rows = statistics(hypotheses, *references)
    for key, score in scores.items():
        assert rows[key].score == pytest.approx(score, abs=1e-9), key
    for key, name in KEYS.items():
        theirs = METRICS[name]().corpus_score(hypotheses, references).score
        assert scores[key] == pytest.approx(theirs, abs=1e-9), key


@pytest.mark.parametrize("n_references", [1, 2])
@pytest.mark.parametrize(("method", "name", "n_samples"), [("bootstrap", "bs", 200), ("randomisation", "ar", 333)])
def test_p_and_interval_are_those_of_sacrebleu_with_its_seed(
    method: str, name: str, n_samples: int, n_references: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SACREBLEU_SEED", str(SEED))
    references = REFERENCES[:n_references]
    metrics = {key: metric() for key, metric in METRICS.items()}
    systems = [("first", FIRST), ("second", SECOND)]
    _, theirs = PairedTest(systems, metrics, references, test_type=name, n_samples=n_samples)()
    first, second = statistics(FIRST, *references), statistics(SECOND, *references)
    for key, metric in KEYS.items():
        baseline, other = theirs[metric]
        found = compared(first[key], second[key], method, n_samples=n_samples)  # type: ignore[arg-type]
        if (key, method) == ("ter", "randomisation"):
            # Edits are whole numbers and often tie; sacreBLEU leaves ties out.
            assert other.p_value <= found.p < other.p_value + 0.1
        else:
            assert found.p == pytest.approx(other.p_value, abs=1e-12)
        assert 1 / (n_samples + 1) < found.p < 1  # no case at the edge, which could agree by chance
        assert found.difference == pytest.approx(other.score - baseline.score, abs=1e-9)
        if method == "bootstrap":
            ours = [interval(system[key], n_samples=n_samples) for system in (first, second)]
            # sacreBLEU sums and divides in 32 bits here.
            assert [one.mean for one in ours] == pytest.approx([baseline.mean, other.mean], rel=1e-5)
            assert [(one.high - one.low) / 2 for one in ours] == pytest.approx([baseline.ci, other.ci], rel=1e-4)


def counting(*rows: float) -> LineStatistics:
    """Return statistics whose score is the plain sum."""
    return LineStatistics(np.array(rows)[:, None], lambda sums: sums[:, 0])


def test_randomisation_comes_near_the_share_of_all_exchanges() -> None:
    first, second = (5.0, 1, 3, 2, 4, 1, 0, 2), (6.0, 1.5, 2.75, 4, 3, 3, 1, 4.125)
    apart = [
        abs(sum(b - a if kept else a - b for a, b, kept in zip(first, second, coins, strict=True)))
        for coins in itertools.product([False, True], repeat=8)
    ]
    exact = sum(one >= apart[-1] for one in apart) / 2**8
    found = compared(counting(*first), counting(*second), "randomisation", n_samples=20_000)
    assert 0.02 < exact < 0.5
    assert found.p == pytest.approx(exact, abs=4 * (exact / 20_000) ** 0.5)


@pytest.mark.parametrize("method", ["bootstrap", "randomisation"])
def test_a_system_is_no_better_than_itself_and_far_better_than_nonsense(method: str) -> None:
    rows = statistics(FIRST, REFERENCES[0])["sacrebleu"]
    assert compared(rows, rows, method, n_samples=99).p == 1  # type: ignore[arg-type]
    nonsense = statistics(["zz zz zz zz zz"] * 50, REFERENCES[0])["sacrebleu"]
    found = compared(nonsense, rows, method, n_samples=99)  # type: ignore[arg-type]
    assert (found.p, found.difference) == (0.01, rows.score)


def test_a_seed_gives_the_same_figures_again_and_another_seed_others() -> None:
    system = statistics(FIRST, REFERENCES[0])["chrf2"]
    assert interval(system, seed=7) == interval(system, seed=7) != interval(system, seed=8)


def test_the_interval_of_a_mean_is_that_of_the_normal_law() -> None:
    # The sum of 400 draws from 0 and 1: 200 +- 1.96 * 10, whatever the test set.
    found = interval(counting(*[0.0, 1.0] * 200), n_samples=4_000)
    assert found.mean == pytest.approx(200, abs=0.8)
    assert (found.low, found.high) == (pytest.approx(180.4, abs=1.6), pytest.approx(219.6, abs=1.6))


def test_samples_are_drawn_in_portions_as_if_at_once() -> None:
    rows = np.arange(5.0)
    drawn = np.random.default_rng(3).choice(5, size=(150, 5), replace=True)
    assert np.array_equal(resampled(counting(*rows), n_samples=150, seed=3), rows[drawn].sum(axis=1))
