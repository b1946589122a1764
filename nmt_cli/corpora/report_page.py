"""`report.html`: what `prepare` did, as a page with histograms; no script, nothing from outside."""

from __future__ import annotations

import html
from collections.abc import Iterable
from typing import Any

import numpy as np

from nmt_cli.corpora.keys import PairKeys
from nmt_cli.corpora.report import Preparation
from nmt_cli.files import visible

WORD_STEP, LONGEST_SHOWN = 5, 100
RATIO_STEP, LARGEST_SHOWN = 0.25, 3.0
BAR_WIDTH = 320
Numbers = np.ndarray[Any, Any]
Bin = tuple[str, int]

_STYLE = """body{font:15px/1.5 sans-serif;max-width:60em;margin:2em auto;padding:0 1em}
table{border-collapse:collapse}td,th{padding:.1em .6em;text-align:left;vertical-align:top}
td.n{text-align:right}rect{fill:#47a}li.w{color:#a30}"""


def report_page(done: Preparation) -> str:
    """Return the page."""
    # Without the name of the folder: the same data give the same page, and so the same digest, wherever they lie.
    title = f"{done.kept:,} of {done.lines:,} pairs kept"
    parts = [f"<h1>{html.escape(title)}</h1>"]
    if done.warnings:
        parts.append("<ul>" + "".join(f'<li class="w">{_text(warning)}</li>' for warning in done.warnings) + "</ul>")
    parts += _dropped(done)
    for split, pairs in done.splits.items():
        parts.append(f"<h2>{split}: {len(pairs):,} pairs</h2>")
        source, target = pairs.words
        parts += [histogram("words a source sentence", word_bins(source))]
        parts += [histogram("words a target sentence", word_bins(target))]
        parts += [histogram("target words for a source word", ratio_bins(pairs))]
    head = f'<meta charset="utf-8"><title>{html.escape(title)}</title><style>{_STYLE}</style>'
    return f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>\n' + "\n".join(parts) + "\n</body></html>\n"


def word_bins(words: Numbers) -> list[Bin]:
    """Return how many sentences have 0 to 4 words, 5 to 9 and so on, and 100 or more."""
    counts = np.bincount(np.minimum(words, LONGEST_SHOWN) // WORD_STEP, minlength=LONGEST_SHOWN // WORD_STEP + 1)
    names = [f"{first}–{first + WORD_STEP - 1}" for first in range(0, LONGEST_SHOWN, WORD_STEP)]
    return list(zip([*names, f"{LONGEST_SHOWN}+"], counts.tolist(), strict=True))


def ratio_bins(pairs: PairKeys) -> list[Bin]:
    """Return how many pairs have so many target words for a source word; those without a word count as one."""
    source, target = (np.maximum(words, 1) for words in pairs.words)
    steps = round(LARGEST_SHOWN / RATIO_STEP)
    counts = np.bincount(np.minimum(target / source / RATIO_STEP, steps).astype(np.int64), minlength=steps + 1)
    names = [f"{step * RATIO_STEP:.2f}–" for step in range(steps)]
    return list(zip([*names, f"{LARGEST_SHOWN:g}+"], counts.tolist(), strict=True))


def histogram(title: str, bins: Iterable[Bin]) -> str:
    """Return a table with a bar a row; empty rows at both ends are left out."""
    rows = list(bins)
    filled = [place for place, (_, count) in enumerate(rows) if count]
    if not filled:
        return ""
    largest = max(count for _, count in rows)
    lines = [f"<h3>{html.escape(title)}</h3>", "<table>"]
    for name, count in rows[filled[0] : filled[-1] + 1]:
        bar = (
            f'<svg width="{BAR_WIDTH}" height="12"><rect width="{BAR_WIDTH * count / largest:.1f}" height="12"/></svg>'
        )
        lines.append(f'<tr><td class="n">{name}</td><td class="n">{count:,}</td><td>{bar}</td></tr>')
    return "\n".join([*lines, "</table>"])


def _dropped(done: Preparation) -> list[str]:
    parts = []
    for reason, count in done.dropped.counts.most_common():
        parts += [f"<h2>dropped: {html.escape(reason)}, {count:,} pairs</h2>", "<table>"]
        parts += [
            f'<tr><td class="n">{example["line"]}</td><td>{_text(example["source"])}</td>'
            f"<td>{_text(example['target'])}</td></tr>"
            for example in done.dropped.examples[reason]
        ]
        parts.append("</table>")
    return parts


def _text(value: object) -> str:
    return html.escape(visible(str(value)))
