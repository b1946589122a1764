"""A report as text, as JSON and as one HTML page without anything from elsewhere."""

from __future__ import annotations

import dataclasses
import html

from nmt_cli.files import visible
from nmt_cli.views.run_report import Line, RunReport, Verdict, sections_of

TITLES = {
    "model": "Model",
    "training": "Training",
    "search": "Search",
    "size": "Sizes and steps",
    "averaging": "Averaging",
    "scores": "Scores",
    "cost": "Training cost",
    "digests": "Digests",
}
MARKS: dict[Verdict, str] = {"equal": "=", "about": "~", "differs": "!", "": " "}
NAME_WIDTH = 24
STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 72rem; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; margin-bottom: 1.5rem; }
td, th { border-bottom: 1px solid #8884; padding: .25rem .6rem; text-align: left; vertical-align: top; }
td:nth-child(2), td:nth-child(3) { overflow-wrap: anywhere; }
.differs td:last-child { color: #b00020; font-weight: 600; }
.equal td:last-child { color: #1a7f37; }
"""


def as_text_lines(report: RunReport) -> list[str]:
    """Return the report for a terminal: `=` equal, `~` about, `!` differs."""
    found = [headline(report)]
    for section, lines in sections_of(report.lines).items():
        found += ["", TITLES[section]]
        found += [_text_line(line) for line in lines]
    return [visible(line) for line in found]


def headline(report: RunReport) -> str:
    """Return what the report is about, and how it came out."""
    equal, about, differ = (report.count(verdict) for verdict in ("equal", "about", "differs"))
    return (
        f"{report.run} against the paper's {report.against} model, into {report.target_language}: "
        f"of {equal + about + differ} lines {equal} equal (=), {about} about equal (~), {differ} differ (!)"
    )


def _text_line(line: Line) -> str:
    told = f"{MARKS[line.verdict]} {line.name:<{NAME_WIDTH}} {line.ours}"
    if line.verdict == "equal":
        return f"{told}  ({line.where})" if line.where else told
    if line.paper:
        told += f"  paper: {line.paper}"
    return f"{told}  ({line.where})" if line.where else told


def as_json(report: RunReport) -> dict[str, object]:
    """Return the report for programs."""
    return {
        "run": report.run,
        "against": report.against,
        "target_language": report.target_language,
        "equal": report.count("equal"),
        "about": report.count("about"),
        "differs": report.count("differs"),
        "lines": [dataclasses.asdict(line) for line in report.lines],
    }


def as_html(report: RunReport) -> str:
    """Return the report as a page."""
    parts = [
        "<!DOCTYPE html>",
        '<html lang="en"><head><meta charset="utf-8">',
        f"<title>{_escaped(report.run)}</title><style>{STYLE}</style></head><body>",
        f"<h1>{_escaped(report.run)}</h1><p>{_escaped(headline(report))}</p>",
    ]
    for section, lines in sections_of(report.lines).items():
        parts.append(f"<h2>{TITLES[section]}</h2><table>")
        parts.append("<tr><th></th><th>this run</th><th>the paper</th><th>section</th><th></th></tr>")
        for line in lines:
            cells = (line.name, line.ours, line.paper, line.where, line.verdict)
            row = "".join(f"<td>{_escaped(cell)}</td>" for cell in cells)
            parts.append(f'<tr class="{line.verdict or "none"}">{row}</tr>')
        parts.append("</table>")
    return "\n".join([*parts, "</body></html>", ""])


def _escaped(text: str) -> str:
    return html.escape(visible(text))
