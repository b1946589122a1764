"""What is done to a line before subwords see it, and its undoing."""

from __future__ import annotations

import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_cli.config import TextConfig
from nmt_cli.corpora.text_steps import apply, undo

PLAIN = TextConfig()
MOSES = TextConfig(moses=True)
EVERY_SPACE = [chr(code) for code in range(sys.maxunicode + 1) if chr(code).isspace()]


def test_python_counts_29_characters_of_unicode_as_white_space() -> None:
    assert len(EVERY_SPACE) == 29
    assert {"\t", "\v", "\f", "\r", "\x1c", "\x85", "\xa0", "\u2009", "\u2028", "\u2029", "\u202f", "\u3000"} <= set(
        EVERY_SPACE
    )


@pytest.mark.parametrize("space", EVERY_SPACE, ids=lambda space: f"U+{ord(space):04X}")
def test_every_kind_of_white_space_becomes_one_space_and_none_at_the_ends(space: str) -> None:
    assert apply(f"{space} a{space}{space}b {space}c{space}", PLAIN, "en") == "a b c"


@pytest.mark.parametrize("control", [*map(chr, range(9)), "\x0e", "\x1b", "\x7f", "\x80", "\x9f", "\ufeff"], ids=ascii)
def test_a_control_character_or_byte_order_mark_goes_and_leaves_no_space(control: str) -> None:
    for config in (PLAIN, TextConfig(fold_spaces=False, nfc=False)):
        assert apply(f"{control}a{control}b{control}", config, "en") == "ab"


@pytest.mark.parametrize(
    "text", ["क्‍ष", "👨‍👩‍👧", "می‌خواهم", "a\u200bb", "\u202eabc\u202c", "\U000e0041\U0010ffff"], ids=ascii
)
def test_characters_that_join_or_direct_others_and_those_beyond_the_bmp_are_text(text: str) -> None:
    assert apply(text, PLAIN, "en") == text


def test_decomposed_and_composed_text_become_the_same() -> None:
    composed = "Élève naïf à Ångström, 각"
    decomposed = unicodedata.normalize("NFD", composed)
    assert decomposed != composed
    assert apply(decomposed, PLAIN, "fr") == apply(composed, PLAIN, "fr") == composed
    assert apply(decomposed, TextConfig(nfc=False), "fr") == decomposed


def test_a_mark_that_a_byte_order_mark_parted_from_its_letter_is_composed() -> None:
    assert apply("e\ufeff\u0301", PLAIN, "fr") == "é"


@pytest.mark.parametrize(
    ("text", "lower"),
    [("STRASSE ẞ", "strasse ß"), ("İI", "i̇i"), ("ΟΔΟΣ", "οδος"), ("J\u030c", "ǰ")],
    ids=ascii,
)
def test_lower_casing_keeps_normal_form_c(text: str, lower: str) -> None:
    assert apply(text, TextConfig(lowercase=True), "en") == lower


def test_nothing_but_line_ends_and_tabs_changes_where_spaces_are_not_folded() -> None:
    text = "  a\u2028 b\xa0\xa0c\v"
    assert apply(text + "\t\r\n", TextConfig(fold_spaces=False), "en") == text + "   "


@given(st.text(), st.booleans(), st.booleans())
def test_the_steps_done_twice_are_the_steps_done_once(text: str, lowercase: bool, nfc: bool) -> None:
    config = TextConfig(lowercase=lowercase, nfc=nfc)
    once = apply(text, config, "en")
    assert apply(once, config, "en") == once
    assert undo(once, config, "en") == once
    assert not set(once) & {"\n", "\r", "\t", "\0", "\u2028"}
    assert once == once.strip()


def test_a_very_long_word_of_combining_marks_is_cut_for_normal_form_and_short_words_of_the_line_are_not() -> None:
    storm = "a" + "\u0301\u0316" * 10_000
    folded = apply(f"{storm} e\u0301", PLAIN, "en")
    assert folded.endswith(" é")
    assert sorted(unicodedata.normalize("NFD", folded)) == sorted(unicodedata.normalize("NFD", f"{storm} é"))


@pytest.mark.parametrize(
    ("language", "text", "tokens"),
    [
        ("en", "He didn't pay $5, Mr. Smith!", "He didn 't pay $ 5 , Mr. Smith !"),
        ("de", "Das ist z. B. „gut“, oder?", "Das ist z. B. „ gut “ , oder ?"),
        ("fr", "L'été n'est qu'un mot.", "L' été n' est qu' un mot ."),
        ("en-GB", "Dr. Who's <b> & [x]", "Dr. Who 's < b > & [ x ]"),
        ("xx", "a, b", "a , b"),
        ("en", "", ""),
    ],
)
def test_moses_tokens_are_those_of_the_language_and_nothing_is_escaped(language: str, text: str, tokens: str) -> None:
    assert apply(text, MOSES, language) == tokens


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "He didn't pay $5, Mr. Smith!"),
        ("en", "won't can't it's 3.5% of 1,000"),
        ("fr", "L'été n'est qu'un mot."),
        ("de", "Ein Mann, der (heute) lacht: so!"),
        ("en", "&lt;b&gt; costs 5"),
        ("cs", "Mám e-mail."),
        ("en", ""),
    ],
)
def test_undoing_moses_tokens_gives_the_line_back(language: str, text: str) -> None:
    found = undo(apply(text, MOSES, language), MOSES, language)
    assert found.replace(" ", "") == text.replace(" ", "")
    if "&" not in text:
        assert found == text


def test_the_czech_words_on_which_the_detokeniser_would_fail_are_joined() -> None:
    assert undo("d' - li", MOSES, "cs") == "d'-li"


def test_moses_follows_lower_casing() -> None:
    assert apply("The END.", TextConfig(moses=True, lowercase=True), "en") == "the end ."
