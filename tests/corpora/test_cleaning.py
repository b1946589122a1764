"""Which pairs are dropped for what they are."""

from __future__ import annotations

import pytest

from nmt_cli.config import CleaningConfig
from nmt_cli.corpora.cleaning import count_words, is_blank, reason_to_drop

CONFIG = CleaningConfig(max_words=10, max_characters=60, max_ratio=3.0)


def reason(source: str, target: str, config: CleaningConfig = CONFIG) -> str | None:
    return reason_to_drop(source, target, (count_words(source), count_words(target)), config)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", 0),
        ("one", 1),
        ("one two  three", 3),
        ("Straße Äpfel", 2),
        ("안녕 하세요", 2),
        ("我", 1),
        ("我喜欢自然语言处理。", 5),  # ten characters of two columns, four columns a word
        ("これはテストです。", 5),  # nine of two, rounded up
        ("ภาษาไทยไม่มีช่องว่าง", 5),  # twenty of one
        ("das Wort 你好 heute", 4),
        ("🙂🙂🙂🙂🙂🙂", 1),
    ],
)
def test_words_are_what_spaces_divide_and_four_columns_where_there_are_no_spaces(text: str, words: int) -> None:
    assert count_words(text) == words


@pytest.mark.parametrize(
    "text", ["", " ", "\u200b\u200d", "\xa0\u2028", "\u202e\u202c", "\u00ad", "\u2060 \ufeff"], ids=ascii
)
def test_a_text_that_shows_nothing_is_blank(text: str) -> None:
    assert is_blank(text)


@pytest.mark.parametrize("text", [".", "\u200ba", "1", "。", "\ufffd"])
def test_a_text_that_shows_anything_is_not_blank(text: str) -> None:
    assert not is_blank(text)


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ("a b", "c d", None),
        ("", "c d", "empty"),
        ("a b", "\u200b", "empty"),
        (" ".join("abcdefghij"), " ".join("abcdefghij"), None),
        (" ".join("abcdefghijk"), " ".join("abcdefghij"), "too_long"),
        ("a b", "x" * 60, None),
        ("x" * 61, "a b", "too_long"),
        ("a b c", "d", None),
        ("a b c d", "e", "ratio"),
        ("e", "a b c d", "ratio"),
    ],
)
def test_each_rule_has_its_reason_and_its_exact_limit(source: str, target: str, expected: str | None) -> None:
    assert reason(source, target) == expected


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("Congratulations!", "ขอแสดงความยินดีด้วย!"),
        ("I like natural language processing very much indeed.", "我非常喜欢自然语言处理。"),
        ("Incomprehensible.", "费解。"),
        ("Yes.", "はい、そうです。"),
        ("You should have told me about it when we met at the station yesterday morning.", "你昨天早上应该告诉我的。"),
        ("The weather was so bad that nobody wanted to leave the house.", "อากาศแย่มากจนไม่มีใครอยากออกจากบ้าน"),
        ("It took us three hours to walk to the monastery.", "དགོན་པར་གོམ་བགྲོད་བྱེད་པར་ཆུ་ཚོད་གསུམ་འགོར་སོང་།"),
    ],
)
def test_good_pairs_with_a_script_without_spaces_are_kept_by_the_defaults(source: str, target: str) -> None:
    assert reason(source, target, CleaningConfig()) is None


def test_a_very_long_chinese_line_is_too_long_though_it_has_no_spaces() -> None:
    assert reason("好" * 502, "word " * 250, CleaningConfig()) == "too_long"
    assert reason("好" * 500, "word " * 250, CleaningConfig()) is None
