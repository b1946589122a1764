"""Numbers, clock times and dates in words and figures of both languages."""

from __future__ import annotations

from nmt_cli.corpora.demo.word_lists import listed

ENGLISH_SMALL = listed(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen"
)
ENGLISH_TENS = ("", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
GERMAN_SMALL = listed(
    "null eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn "
    "sechzehn siebzehn achtzehn neunzehn"
)
GERMAN_TENS = ("", "", "zwanzig", "dreißig", "vierzig", "fünfzig", "sechzig", "siebzig", "achtzig", "neunzig")
MONTHS = (
    ("January", "Januar"),
    ("February", "Februar"),
    ("March", "März"),
    ("April", "April"),
    ("May", "Mai"),
    ("June", "Juni"),
    ("July", "Juli"),
    ("August", "August"),
    ("September", "September"),
    ("October", "Oktober"),
    ("November", "November"),
    ("December", "Dezember"),
)


def english_number(number: int) -> str:
    """0 to 99 in English words."""
    if number < len(ENGLISH_SMALL):
        return ENGLISH_SMALL[number]
    tens, ones = divmod(number, 10)
    return ENGLISH_TENS[tens] + (f"-{ENGLISH_SMALL[ones]}" if ones else "")


def german_number(number: int) -> str:
    """0 to 99 in German words: the ones before the tens."""
    if number < len(GERMAN_SMALL):
        return GERMAN_SMALL[number]
    tens, ones = divmod(number, 10)
    first = "ein" if ones == 1 else GERMAN_SMALL[ones]
    return (f"{first}und" if ones else "") + GERMAN_TENS[tens]


def ordinal(number: int) -> str:
    """A number with its English ordinal ending: 1st, 2nd, 3rd, 11th, 23rd."""
    if number % 100 in {11, 12, 13}:
        return f"{number}th"
    return f"{number}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th') }"


def clock(hour: int, minute: int) -> tuple[str, str]:
    """A time of day on the twelve-hour clock, without at: half past seven, halb acht."""
    following = hour % 12 + 1
    here, there = english_number(hour), german_number(hour)
    english_next, german_next = english_number(following), german_number(following)
    if minute == 0:
        return f"{here} o'clock", f"{'ein' if hour == 1 else there} Uhr"
    if minute == 15:  # noqa: PLR2004 - minutes of the clock
        return f"a quarter past {here}", f"Viertel nach {there}"
    if minute == 30:  # noqa: PLR2004
        return f"half past {here}", f"halb {german_next}"
    if minute == 45:  # noqa: PLR2004
        return f"a quarter to {english_next}", f"Viertel vor {german_next}"
    if minute < 30:  # noqa: PLR2004
        return f"{english_number(minute)} past {here}", f"{german_number(minute)} nach {there}"
    left = 60 - minute
    return f"{english_number(left)} to {english_next}", f"{german_number(left)} vor {german_next}"


def date(day: int, month: int) -> tuple[str, str]:
    """A day of a month with its preposition: on May 3rd, am 3. Mai."""
    english, german = MONTHS[month - 1]
    return f"on {english} {ordinal(day)}", f"am {day}. {german}"
