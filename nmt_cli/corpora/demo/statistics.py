"""What the demo corpus is like, in figures."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from nmt_cli.corpora.demo.corpus import Example, demo_examples
from nmt_cli.corpora.demo.lexicon import lexicon

PUNCTUATION = ".,?!"


@dataclass(frozen=True)
class DemoStatistics:
    """Counts of pairs and words; lengths are in words, shares between 0 and 1, both lengths (English, German)."""

    n_train: int
    n_valid: int
    n_test: int
    n_entries: int
    n_phrases: int
    n_patterns: int
    largest_pattern_share: float
    distinct_words: tuple[int, int]
    mean_length: tuple[float, float]
    max_length: tuple[int, int]
    share_of_15_words: float
    unseen_verb_noun_share: float
    unseen_combination_share: float
    rarest_test_word: int


def demo_statistics(*, seed: int = 1) -> DemoStatistics:
    """The figures of the corpus; `unseen_*` say which share of test pairs holds a pair of words unseen in train."""
    splits = demo_examples(seed=seed)
    train, test = splits["train"], splits["test"]
    counts = tuple(_word_counts(train, side) for side in (0, 1))
    lengths = tuple([len(words(_side(one, side))) for one in train] for side in (0, 1))
    patterns = Counter(one.pattern for one in train)
    seen = {combination for one in train for combination in one.combinations}
    rarest = min(counts[side][word] for one in test for side in (0, 1) for word in words(_side(one, side)))
    return DemoStatistics(
        n_train=len(train),
        n_valid=len(splits["valid"]),
        n_test=len(test),
        n_entries=lexicon().n_entries,
        n_phrases=len(lexicon().phrases),
        n_patterns=len(patterns),
        largest_pattern_share=max(patterns.values()) / len(train),
        distinct_words=(len(counts[0]), len(counts[1])),
        mean_length=(sum(lengths[0]) / len(train), sum(lengths[1]) / len(train)),
        max_length=(max(lengths[0]), max(lengths[1])),
        share_of_15_words=sum(length >= 15 for length in lengths[0]) / len(train),  # noqa: PLR2004 - named in the field
        unseen_verb_noun_share=_share(test, {"verb"}, seen),
        unseen_combination_share=_share(test, {"verb", "adjective", "other"}, seen),
        rarest_test_word=rarest,
    )


def words(text: str) -> list[str]:
    """The words of a sentence in lower case, without punctuation."""
    return [word for word in (part.strip(PUNCTUATION) for part in text.lower().split()) if word]


def _side(example: Example, side: int) -> str:
    return example.target if side else example.source


def _word_counts(examples: list[Example], side: int) -> Counter[str]:
    return Counter(word for one in examples for word in words(_side(one, side)))


def _share(test: list[Example], kinds: set[str], seen: set[tuple[str, str, str]]) -> float:
    unseen = [one for one in test if any(pair[0] in kinds and pair not in seen for pair in one.combinations)]
    return len(unseen) / len(test)
