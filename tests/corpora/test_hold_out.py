"""What is held out, against brute force over the sentences themselves."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_cli.config import CleaningConfig
from nmt_cli.corpora.hold_out import Fate, decide_fates, shares_a_sentence
from nmt_cli.corpora.keys import PairKeys

Pairs = list[tuple[str, str]]
SENTENCES = st.sampled_from([f"s{n}" for n in range(25)])


def keys_of(pairs: Pairs, *, seed: int = 1) -> PairKeys:
    keys = PairKeys(seed=seed)
    for line, (source, target) in enumerate(pairs, start=1):
        keys.add(line, source, target, (1, 1))
    return keys


def fates_of(pairs: Pairs, config: CleaningConfig, **given_splits: Pairs) -> list[Fate]:
    given_keys = {split: keys_of(own) for split, own in given_splits.items()}
    return [Fate(fate) for fate in decide_fates(keys_of(pairs, seed=config.seed), given_keys, config).tolist()]


def distinct(n_pairs: int) -> Pairs:
    return [(f"source {n}", f"target {n}") for n in range(n_pairs)]


def in_another_order(pairs: Pairs) -> Pairs:
    return [pairs[n] for n in np.random.default_rng(3).permutation(len(pairs))]


@given(st.lists(st.tuples(SENTENCES, SENTENCES), max_size=150), st.integers(0, 3))
@settings(max_examples=150, deadline=None)
def test_no_sentence_stands_in_two_splits_and_no_split_exceeds_a_tenth(pairs: Pairs, seed: int) -> None:
    # Sides are told apart: a source may well read like some target.
    fates = fates_of(pairs, CleaningConfig(n_valid=4, n_test=3, seed=seed))
    splits = {fate: [pair for pair, its in zip(pairs, fates, strict=True) if its == fate] for fate in Fate}
    for side in (0, 1):
        sentences = [{pair[side] for pair in splits[fate]} for fate in (Fate.TRAIN, Fate.VALID, Fate.TEST)]
        assert sum(map(len, sentences)) == len(set.union(*sentences))
    kept = len(set(pairs))
    assert sum(len(splits[fate]) for fate in (Fate.TRAIN, Fate.VALID, Fate.TEST)) == kept
    assert len(splits[Fate.VALID]) <= min(4, kept // 10)
    assert len(splits[Fate.TEST]) <= min(3, kept // 10)


@given(st.lists(st.tuples(SENTENCES, SENTENCES), max_size=60))
def test_a_duplicate_is_a_pair_that_was_seen_before(pairs: Pairs) -> None:
    fates = fates_of(pairs, CleaningConfig())
    for n, pair in enumerate(pairs):
        assert (fates[n] == Fate.DUPLICATE) == (pair in pairs[:n])
    kept = fates_of(pairs, CleaningConfig(drop_duplicates=False))
    assert Fate.DUPLICATE not in kept


@pytest.mark.parametrize(("n_pairs", "expected"), [(9, 0), (10, 1), (19, 1), (20, 2), (5000, 500), (30_000, 1000)])
def test_distinct_pairs_fill_both_splits_to_a_tenth_or_a_thousand(n_pairs: int, expected: int) -> None:
    fates = fates_of(distinct(n_pairs), CleaningConfig())
    assert (fates.count(Fate.VALID), fates.count(Fate.TEST)) == (expected, expected)


def test_the_choice_is_of_the_texts_and_the_seed_and_not_of_their_order() -> None:
    pairs = distinct(400)
    shuffled = in_another_order(pairs)

    def chosen(of: Pairs, seed: int) -> set[tuple[str, str]]:
        fates = fates_of(of, CleaningConfig(n_valid=20, seed=seed))
        return {pair for pair, fate in zip(of, fates, strict=True) if fate == Fate.VALID}

    assert chosen(pairs, 1) == chosen(shuffled, 1)
    assert len(chosen(pairs, 1) & chosen(pairs, 2)) < 10


def test_the_choice_does_not_favour_the_beginning_or_the_end_of_the_file() -> None:
    fates = fates_of(distinct(10_000), CleaningConfig())
    quarters = [fates[start : start + 2500].count(Fate.VALID) for start in range(0, 10_000, 2500)]
    assert sum(quarters) == 1000
    # A quarter has 250 expected and a standard deviation of 13.
    assert all(200 < quarter < 300 for quarter in quarters)


def test_a_chain_of_pairs_that_share_sentences_stays_in_one_split() -> None:
    # s0-t0, s0-t1, s1-t1, s1-t2, ...: each pair shares a sentence with the next.
    chain = in_another_order([(f"chain {n // 2}", f"link {(n + 1) // 2}") for n in range(300)])
    pairs = chain + distinct(900)
    fates = fates_of(pairs, CleaningConfig(n_valid=100, n_test=100))
    assert set(fates[:300]) == {Fate.TRAIN}
    assert (fates.count(Fate.VALID), fates.count(Fate.TEST)) == (100, 100)


def test_references_of_one_source_go_together_and_can_be_held_out() -> None:
    pairs = [(f"source {n // 5}", f"target {n}") for n in range(1000)]
    fates = fates_of(pairs, CleaningConfig(n_valid=50, n_test=50))
    assert fates.count(Fate.VALID) == fates.count(Fate.TEST) == 50
    assert all(len(set(fates[n : n + 5])) == 1 for n in range(0, 1000, 5))


def test_the_case_of_a_sentence_does_not_make_it_another() -> None:
    fates = fates_of([("Yes, STRASSE.", "ja"), ("no", "nein")], CleaningConfig(), valid=[("yes, straße.", "doch")])
    assert fates == [Fate.OVERLAP, Fate.TRAIN]


def test_a_pair_with_a_source_or_target_of_given_files_is_left_out_unless_that_is_switched_off() -> None:
    pairs = [("a", "x"), ("b", "y"), ("c", "z"), ("a", "x")]
    valid, test = [("a", "other")], [("other", "y")]
    fates = fates_of(pairs, CleaningConfig(), valid=valid, test=test)
    assert fates == [Fate.OVERLAP, Fate.OVERLAP, Fate.TRAIN, Fate.DUPLICATE]
    kept = fates_of(pairs, CleaningConfig(drop_overlap=False), valid=valid, test=test)
    assert kept == [Fate.TRAIN, Fate.TRAIN, Fate.TRAIN, Fate.DUPLICATE]


def test_what_shares_a_sentence_with_a_given_test_is_never_held_out_for_validation() -> None:
    pairs = [(f"source {n}", "common" if n < 50 else f"target {n}") for n in range(100)]
    fates = fates_of(pairs, CleaningConfig(drop_overlap=False), test=[("source 7", "something")])
    assert set(fates[:50]) == {Fate.TRAIN}
    assert fates.count(Fate.VALID) == 10
    assert Fate.TEST not in fates


@pytest.mark.parametrize(("n_test", "expected"), [(None, 0), (5, 5), (0, 0)])
def test_beside_a_given_validation_file_a_test_is_made_only_when_asked_for(n_test: int | None, expected: int) -> None:
    fates = fates_of(distinct(100), CleaningConfig(n_test=n_test), valid=[("v", "w")])
    assert fates.count(Fate.TEST) == expected
    assert Fate.VALID not in fates


def test_sharing_a_sentence_is_by_side() -> None:
    assert shares_a_sentence(
        keys_of([("a", "b"), ("b", "c"), ("d", "a")]), keys_of([("x", "c"), ("d", "y")])
    ).tolist() == [
        False,
        True,
        True,
    ]


def test_chosen_keys_are_those_of_the_marked_pairs() -> None:
    keys = PairKeys(seed=4)
    for line, words in [(3, (1, 2)), (5, (3, 4)), (9, (5, 6))]:
        keys.add(line, f"s{line}", f"t{line}", words)
    some = keys.only(np.array([True, False, True]))
    assert some.lines.tolist() == [3, 9]
    assert [side.tolist() for side in some.words] == [[1, 5], [2, 6]]
    assert some.pairs.tolist() == [keys.pairs[0], keys.pairs[2]]
