"""Numbers, clock times and dates against lists written by hand."""

from __future__ import annotations

import pytest

from nmt_cli.corpora.demo import numbers


@pytest.mark.parametrize(
    ("number", "english", "german"),
    [
        *[(0, "zero", "null"), (1, "one", "eins"), (11, "eleven", "elf"), (16, "sixteen", "sechzehn")],
        *[(17, "seventeen", "siebzehn"), (20, "twenty", "zwanzig"), (21, "twenty-one", "einundzwanzig")],
        *[(30, "thirty", "dreißig"), (47, "forty-seven", "siebenundvierzig"), (99, "ninety-nine", "neunundneunzig")],
    ],
)
def test_numbers_are_written_in_words(number: int, english: str, german: str) -> None:
    assert (numbers.english_number(number), numbers.german_number(number)) == (english, german)


@pytest.mark.parametrize(
    ("hour", "minute", "english", "german"),
    [
        (1, 0, "one o'clock", "ein Uhr"),
        (7, 30, "half past seven", "halb acht"),
        (12, 30, "half past twelve", "halb eins"),
        (3, 15, "a quarter past three", "Viertel nach drei"),
        (12, 45, "a quarter to one", "Viertel vor eins"),
        (1, 10, "ten past one", "zehn nach eins"),
        (9, 50, "ten to ten", "zehn vor zehn"),
        (4, 20, "twenty past four", "zwanzig nach vier"),
    ],
)
def test_the_clock_is_told_as_people_tell_it(hour: int, minute: int, english: str, german: str) -> None:
    assert numbers.clock(hour, minute) == (english, german)


@pytest.mark.parametrize(
    ("day", "text"),
    [(1, "1st"), (2, "2nd"), (3, "3rd"), (4, "4th"), (11, "11th"), (12, "12th"), (13, "13th"), (22, "22nd")],
)
def test_ordinals_have_their_english_ending(day: int, text: str) -> None:
    assert numbers.ordinal(day) == text


def test_dates_are_written_as_each_language_writes_them() -> None:
    assert numbers.date(3, 5) == ("on May 3rd", "am 3. Mai")
    assert numbers.date(21, 3) == ("on March 21st", "am 21. März")
