"""The corpus as a whole: splits, sizes, determinism, what it covers."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
from collections import Counter

import pytest

from nmt_cli.corpora.demo.corpus import N_HELD_OUT, Example, demo_corpus, demo_examples
from nmt_cli.corpora.demo.english import EnglishVerb
from nmt_cli.corpora.demo.lexicon import Lexicon, lexicon
from nmt_cli.corpora.demo.statistics import DemoStatistics, demo_statistics, words

DIGEST = """
import hashlib
from nmt_cli.corpora.demo.english import EnglishVerb
from nmt_cli.corpora.demo.corpus import demo_corpus
corpus = demo_corpus()
text = "\\n".join(f"{s}\\t{t}" for split in (corpus.train, corpus.valid, corpus.test) for s, t in split)
print(hashlib.sha256(text.encode()).hexdigest())
"""


@pytest.fixture(scope="module")
def splits() -> dict[str, list[Example]]:
    return demo_examples()


@pytest.fixture(scope="module")
def figures() -> DemoStatistics:
    return demo_statistics()


def test_a_process_with_another_hash_seed_makes_the_same_corpus() -> None:
    ours = demo_corpus()
    text = "\n".join(f"{s}\t{t}" for split in (ours.train, ours.valid, ours.test) for s, t in split)
    other_seed = "1" if os.environ.get("PYTHONHASHSEED") == "4711" else "4711"
    theirs = subprocess.run(
        [sys.executable, "-c", DIGEST],
        env={**os.environ, "PYTHONHASHSEED": other_seed},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert theirs.strip() == hashlib.sha256(text.encode()).hexdigest()


def test_the_corpus_is_the_text_of_the_examples(splits: dict[str, list[Example]]) -> None:
    corpus = demo_corpus()
    assert [(one.source, one.target) for one in splits["test"]] == corpus.test
    assert (len(corpus.train), len(corpus.valid), len(corpus.test)) == (66_000, N_HELD_OUT, N_HELD_OUT)


def test_no_sentence_of_either_side_occurs_twice_whatever_its_capitals(splits: dict[str, list[Example]]) -> None:
    everything = [one for examples in splits.values() for one in examples]
    assert len({one.source.lower() for one in everything}) == len(everything)
    assert len({one.target.lower() for one in everything}) == len(everything)


def test_every_test_pair_holds_a_combination_that_train_never_has(splits: dict[str, list[Example]]) -> None:
    seen = {combination for one in splits["train"] for combination in one.combinations}
    assert all(set(one.combinations) - seen for name in ("valid", "test") for one in splits[name])


def test_the_figures_are_those_that_were_asked_for(figures: DemoStatistics) -> None:
    assert figures.n_train >= 60_000
    assert figures.n_entries >= 700
    assert figures.n_phrases >= 150
    assert figures.largest_pattern_share <= 0.06
    assert min(figures.mean_length) >= 7
    assert min(figures.max_length) >= 20
    assert figures.unseen_verb_noun_share >= 0.5
    assert figures.rarest_test_word >= 10


def test_every_entry_of_the_lexicon_is_used_in_train(splits: dict[str, list[Example]]) -> None:
    train = splits["train"]
    english = " ".join(f" {' '.join(words(one.source))} " for one in train)
    german = " ".join(f" {' '.join(words(one.target))} " for one in train)
    missing = [text for text, forms in _english_forms(lexicon()) if not any(f" {form} " in english for form in forms)]
    missing += [one.german for one in lexicon().adverbials if f" {one.german.lower()} " not in german]
    assert missing == []


def _english_forms(known: Lexicon) -> list[tuple[str, tuple[str, ...]]]:
    """Each entry with its forms in lower case, of which one must be found."""
    entries = [(one.english, (one.english.lower(), one.plural.lower())) for one in known.nouns]
    entries += [(one.english, (one.english, one.comparative)) for one in known.adjectives]
    entries += [(one.english, (one.english.lower(),)) for one in known.adverbials]
    entries += [(one[0], (one[0].lower(),)) for one in known.names]
    entries += [(one.english.base, _verb_forms(one.english)) for one in known.verbs]
    return entries


def _verb_forms(verb: EnglishVerb) -> tuple[str, ...]:
    return tuple(f"{form} {verb.rest}".strip() for form in ("is" if verb.head == "be" else verb.head, verb.past))


def test_every_fixed_phrase_is_in_train(splits: dict[str, list[Example]]) -> None:
    sources = {one.source for one in splits["train"]}
    fixed = [source for source, _ in lexicon().phrases if "{name}" not in source]
    assert sources.issuperset(fixed)


def test_sentences_are_written_as_sentences(splits: dict[str, list[Example]]) -> None:
    shape = re.compile(r"[A-ZÄÖÜ0-9][^\t\n]*[.?!]")
    odd = [
        text
        for examples in splits.values()
        for one in examples
        for text in (one.source, one.target)
        if not shape.fullmatch(text) or re.search(r"  | [.,?!]|,,|,[.?!]|\{|_", text)
    ]
    assert odd == []


def test_marks_at_the_end_agree(splits: dict[str, list[Example]]) -> None:
    differing = [one.source for one in splits["train"] if one.source[-1] != one.target[-1] and one.pattern != "fixed"]
    assert differing == []


def test_frequent_words_are_translated_one_way(splits: dict[str, list[Example]]) -> None:
    """Whoever says `because` says weil; `whether` is ob, `although` obwohl, `never` nie."""
    pairs = {"because": "weil", "although": "obwohl", "whether": "ob", "while": "während", "never": "nie"}
    counts: Counter[str] = Counter()
    for one in splits["train"]:
        source, target = words(one.source), words(one.target)
        for english, german in pairs.items():
            if english in source:
                counts[english] += 1
                assert german in target or one.pattern == "fixed", one
    assert min(counts[english] for english in pairs) > 100
