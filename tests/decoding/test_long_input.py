"""Where a text that is too long is cut, and how its parts are joined."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from nmt_cli.decoding.long_input import join_parts, sentence_ends, split_text


def at_most(n_characters: int) -> Callable[[Sequence[str]], list[bool]]:
    return lambda texts: [len(text) <= n_characters for text in texts]


def sentences(text: str) -> list[str]:
    ends = sentence_ends(text)
    return [text[first:last].strip() for first, last in zip([0, *ends], [*ends, len(text)], strict=True)]


@pytest.mark.parametrize(
    "parts",
    [
        ["It rains.", "We stay in."],
        ["Really?!", "Yes…", "So be it."],
        ["“Go!”", "“Now.”", "He went."],
        ["Dr. Miller met Mr. B. Jones, e.g. at St. Mary's.", "Then he left."],
        ["Er kam am 3. Oktober, z.B. um 9 Uhr.", "Es war kalt."],
        ["It cost 3.50 dollars in 1999.", "Now it is more."],
        ["It has 1,000 pages.", "12 are blank."],
        ['"Stop!" he said and e.g. ran.', "Nobody saw it."],
        ["¿Qué?", "¡Nada!", "Bien."],
        ["one", "two"],
    ],
    ids=lambda parts: parts[0],
)
def test_sentences_end_where_a_reader_would_say(parts: list[str]) -> None:
    assert sentences(" ".join(parts)) == (parts if len(parts[0]) > 3 else [" ".join(parts)])


def test_han_sentences_end_without_spaces_and_keep_their_quotes() -> None:
    assert sentences("你好吗？我很好。「走吧！」他说。") == ["你好吗？", "我很好。", "「走吧！」", "他说。"]


def test_a_text_that_is_short_enough_stays_whole_but_for_its_sentences() -> None:
    assert split_text("the old dog", at_most(20)) == ["the old dog"]


def test_a_long_sentence_is_cut_at_the_clause_mark_nearest_to_its_middle() -> None:
    text = "at first, when it rained all day, we stayed in and read, then we left"
    assert split_text(text, at_most(40)) == ["at first, when it rained all day,", "we stayed in and read, then we left"]


def test_a_clause_mark_at_the_edge_is_no_place_to_cut() -> None:
    assert split_text("so, aaaa bbbb cccc dddd", at_most(15)) == ["so, aaaa", "bbbb cccc dddd"]


def test_a_word_is_cut_inside_and_only_when_nothing_else_is_left() -> None:
    parts = split_text("short " + "x" * 50, at_most(10))
    assert "".join(parts) == "short" + "x" * 50
    assert all(0 < len(part) <= 10 for part in parts)


def test_a_letter_keeps_its_marks_where_that_can_be() -> None:
    parts = split_text("e\u0301" * 31, at_most(12))
    assert "".join(parts) == "e\u0301" * 31
    assert all(part.startswith("e") for part in parts)


@pytest.mark.parametrize("text", ["." * 60_000, " ." * 30_000, "\u0301" * 20_000, "a " * 30_000, "., " * 20_000])
def test_strange_long_texts_are_cut_in_little_time_and_lose_nothing(text: str) -> None:
    parts = split_text(text, at_most(1000))
    assert "".join("".join(parts).split()) == "".join(text.split())
    assert all(len(part) <= 1000 for part in parts)


def test_a_single_character_is_a_part_even_if_it_does_not_fit() -> None:
    assert split_text("ab", at_most(0)) == ["a", "b"]


def test_parts_are_joined_as_the_language_writes() -> None:
    assert join_parts(["Es regnet.", "", "Wir bleiben."], "de") == "Es regnet. Wir bleiben."
    assert (
        join_parts(["下雨了。", "我们不走。"], "zh")
        == join_parts(["下雨了。", "我们不走。"], "zh-Hans")
        == "下雨了。我们不走。"
    )
