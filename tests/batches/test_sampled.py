"""The pairs of an update cut anew: the same on every rank and in every run, within the limits, with the same text."""

from __future__ import annotations

import hashlib
import itertools
import os
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from nmt_cli.batches.corpus import EncodedCorpus
from nmt_cli.batches.sampled import SubwordSampler, in_memory
from nmt_cli.subwords.learning import learn_subwords
from nmt_cli.subwords.sampling import WordCutter
from nmt_cli.subwords.segmenter import END, Segmenter

WORDS = ["garden", "house", "window", "reader", "winter", "under", "house", "wonder"]


def lines(n: int, *, seed: int) -> list[str]:
    draw = random.Random(seed)  # noqa: S311 - sentences, no secret
    return [" ".join(draw.choices(WORDS, k=draw.randint(1, 7))) for _ in range(n)]


SOURCES, TARGETS = lines(60, seed=1), [line.upper() for line in lines(60, seed=2)]
PAIRS = np.array([3, 17, 17, 40, 8, 59, 0])


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("subwords")
    for name, text in (("source", SOURCES), ("target", TARGETS)):
        learn_subwords(text, folder / f"{name}.model", vocab_size=300)
    return folder / "source.model", folder / "target.model"


def made(models: tuple[Path, Path], *, max_length: int = 100, **changes: float) -> tuple[SubwordSampler, EncodedCorpus]:
    source, target = map(Segmenter.load, models)
    seed = int(changes.get("seed", 1))
    cutters = WordCutter(source), WordCutter(target)
    sampler = SubwordSampler(*cutters, changes.get("dropout", 0.3), seed, max_length)
    sides = [
        in_memory([[*ids, END] for ids in segmenter.encode(text)])
        for segmenter, text in ((source, SOURCES), (target, TARGETS))
    ]
    return sampler, EncodedCorpus(*sides)


def pairs_of(corpus: EncodedCorpus, places: np.ndarray) -> list[tuple[list[int], list[int]]]:
    return [(corpus.source.sentence(i).tolist(), corpus.target.sentence(i).tolist()) for i in places.tolist()]


def sampled(models: tuple[Path, Path], *, step: int = 5, **changes: float) -> list[tuple[list[int], list[int]]]:
    sampler, corpus = made(models, **changes)
    return pairs_of(*sampler.cut_update_anew(corpus, PAIRS, step=step))


def digest(pairs: list[tuple[list[int], list[int]]]) -> str:
    return hashlib.sha256(repr(pairs).encode()).hexdigest()


def test_the_pairs_are_those_of_the_update_and_say_the_same(models: tuple[Path, Path]) -> None:
    source, target = map(Segmenter.load, models)
    found = sampled(models)
    assert all(side[-1] == END and END not in side[:-1] for pair in found for side in pair)
    texts = [(source.decode(s[:-1]), target.decode(t[:-1])) for s, t in found]
    assert sorted(texts) == sorted((SOURCES[i], TARGETS[i]) for i in PAIRS)


def test_both_sides_are_cut_otherwise_than_stored_and_each_repetition_anew(models: tuple[Path, Path]) -> None:
    sampler, corpus = made(models, dropout=0.9)
    stored, found = pairs_of(corpus, np.sort(PAIRS)), sampled(models, dropout=0.9)
    assert {tuple(s) for s, _ in found}.isdisjoint(tuple(s) for s, _ in stored)
    assert {tuple(t) for _, t in found}.isdisjoint(tuple(t) for _, t in stored)
    twice = pairs_of(*sampler.cut_update_anew(corpus, np.array([17, 17]), step=5))
    assert twice[0] != twice[1]


def test_the_places_go_by_target_then_source_length_up_and_down(models: tuple[Path, Path]) -> None:
    sides = [(len(target), len(source)) for source, target in sampled(models)]
    lengths = [(target, -source if target % 2 else source) for target, source in sides]
    assert lengths == sorted(lengths)


def test_steps_and_seeds_differ_and_the_same_step_does_not(models: tuple[Path, Path]) -> None:
    found = [digest(sampled(models, step=step, seed=seed)) for step, seed in itertools.product((1, 2, 300), (1, 2))]
    assert len(set(found)) == 6
    assert digest(sampled(models, step=2, seed=1)) == found[2]


def test_another_process_gets_the_same(models: tuple[Path, Path]) -> None:
    program = f"""
import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})
from pathlib import Path
import test_sampled
models = tuple(map(Path, sys.argv[1:]))
test_sampled.sampled(models, step=4)
print(test_sampled.digest(test_sampled.sampled(models)))
"""
    done = subprocess.run(
        [sys.executable, "-c", program, *models],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PYTHONHASHSEED": "5"},
    )
    assert done.stdout.strip() == digest(sampled(models))


def test_a_side_that_would_be_too_long_stays_as_it_is_stored(models: tuple[Path, Path]) -> None:
    sampler, corpus = made(models, dropout=1 - 1e-12)
    lengths = np.array([max(len(s), len(t)) + 2 for s, t in zip(SOURCES, TARGETS, strict=True)])  # space mark and end
    pair = int(np.argmax(lengths))
    whole, _ = sampler.cut_update_anew(corpus, np.array([pair]), step=1)
    longest = len(SOURCES[pair]) + 2, len(TARGETS[pair]) + 2
    assert (len(whole.source.sentence(0)), len(whole.target.sentence(0))) == longest
    sampler, _ = made(models, dropout=1 - 1e-12, max_length=max(longest))
    assert len(sampler.cut_update_anew(corpus, np.array([pair]), step=1)[0].source.sentence(0)) == longest[0]
    sampler, _ = made(models, dropout=1 - 1e-12, max_length=min(longest) - 1)
    kept, _ = sampler.cut_update_anew(corpus, np.array([pair]), step=1)
    assert pairs_of(kept, np.array([0])) == pairs_of(corpus, np.array([pair]))


def test_an_empty_sentence_is_its_end_symbol(models: tuple[Path, Path]) -> None:
    sampler, _ = made(models)
    empty = EncodedCorpus(in_memory([[END]]), in_memory([[END]]))
    assert pairs_of(*sampler.cut_update_anew(empty, np.array([0, 0]), step=1)) == [([END], [END])] * 2
