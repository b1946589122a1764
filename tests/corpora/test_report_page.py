"""The report as a page: right numbers, no text that acts, nothing from outside."""

from __future__ import annotations

import re
from pathlib import Path

from nmt_cli.corpora.keys import PairKeys
from nmt_cli.corpora.report import Dropped, Preparation
from nmt_cli.corpora.report_page import histogram, ratio_bins, report_page, word_bins


def keys(*words: tuple[int, int]) -> PairKeys:
    pairs = PairKeys()
    for line, lengths in enumerate(words, start=1):
        pairs.add(line, f"source {line}", f"target {line}", lengths)
    return pairs


def test_sentences_are_counted_in_steps_of_five_words_and_the_longest_together() -> None:
    bins = dict(word_bins(keys((0, 0), (4, 0), (5, 0), (99, 0), (100, 0), (3000, 0)).words[0]))
    assert {name: count for name, count in bins.items() if count} == {"0–4": 2, "5–9": 1, "95–99": 1, "100+": 2}


def test_ratios_are_counted_in_quarters() -> None:
    bins = dict(ratio_bins(keys((4, 4), (4, 5), (8, 4), (1, 90), (0, 0))))
    assert {name: count for name, count in bins.items() if count} == {"1.00–": 2, "1.25–": 1, "0.50–": 1, "3+": 1}


def test_the_longest_bar_is_that_of_the_largest_count_and_empty_ends_are_left_out() -> None:
    page = histogram("words", [("a", 0), ("b", 2), ("c", 0), ("d", 8), ("e", 0)])
    assert re.findall(r'rect width="([\d.]+)"', page) == ["80.0", "0.0", "320.0"]
    assert histogram("words", [("a", 0)]) == ""


def test_the_page_shows_what_was_dropped_as_text_and_needs_nothing_from_outside() -> None:
    dropped = Dropped()
    dropped.add("ratio", 7, "<script>alert(1)</script>", "a\u202eb & c")
    done = Preparation(Path("data/x"), 3, {"train": keys((3, 4), (5, 5))}, dropped, ["drifts from <line> 9"])
    page = report_page(done)
    assert "2 of 3 pairs kept" in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "drifts from &lt;line&gt; 9" in page
    assert r"a\u202eb &amp; c" in page
    assert not re.search(r"<script|https?://|src=|href=|@import", page)
