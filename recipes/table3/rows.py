"""Table 3: the paper's rows beside ours.

rows.py counts ROW...     parameters, exact, for the vocabularies that the published figures may have had
rows.py table ROW...      perplexity and BLEU of the last checkpoint of runs/ROW
"""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from nmt_cli.config import ModelConfig
from nmt_cli.errors import NmtError
from nmt_cli.model_folder import open_model_folder
from nmt_cli.settings_files import resolve

HERE = Path(__file__).parent
VOCABULARIES = (32_000, 37_000, 40_960)
MISSING = "-"


@dataclass(frozen=True)
class Row:
    """What the paper prints of a row; the parameters of several are left empty there."""

    name: str
    changed: str
    perplexity: float
    bleu: float
    millions: int | None


def paper_rows() -> dict[str, Row]:
    """Return the rows of the paper's table by name."""
    with (HERE / "paper.tsv").open(encoding="utf-8") as stream:
        return {
            line["row"]: Row(
                line["row"],
                line["changed"],
                float(line["perplexity"]),
                float(line["bleu"]),
                int(line["millions"]) if line["millions"] else None,
            )
            for line in csv.DictReader(stream, delimiter="\t")
        }


def model_of(row: str, *changes: str) -> ModelConfig:
    """Return the model settings of a row."""
    preset = "big" if row == "big" else "base"
    return resolve(preset=preset, config=HERE / f"{row}.toml", assignments=changes).model


def parameters(config: ModelConfig, vocab_size: int) -> int:
    """Return the number of parameters of a model with one vocabulary for all."""
    import torch

    from nmt_cli.model.transformer import Transformer, parameter_count

    with torch.device("meta"):
        return parameter_count(Transformer(config, source_vocab_size=vocab_size, target_vocab_size=vocab_size))


def counts(rows: Sequence[Row]) -> list[list[str]]:
    """Return a line for each row: the paper's millions, and ours for each reading."""
    heads = [f"V={size:,}" for size in VOCABULARIES]
    lines = [["row", "changed", "paper", *heads, f"V={VOCABULARIES[-1]:,} t2t-2017"]]
    for row in rows:
        config = model_of(row.name)
        as_in_2017 = model_of(row.name, "model.attention_bias=true", "model.target_space=true")
        ours = [parameters(config, size) for size in VOCABULARIES] + [parameters(as_in_2017, VOCABULARIES[-1])]
        lines.append([row.name, row.changed, millions(row), *(f"{count:,}" for count in ours)])
    return lines


def table(rows: Sequence[Row]) -> list[list[str]]:
    """Return a line for each row that was trained, and for the others what the paper has."""
    lines = [
        ["row", "changed", "params", "paper", "ppl", "paper", "diff", "BLEU", "paper", "diff", "sacreBLEU", "step"]
    ]
    for row in rows:
        found = measured(row.name)
        told = [
            found.get("parameters", MISSING),
            millions(row),
            *beside(found.get("perplexity"), row.perplexity, digits=2),
            *beside(found.get("bleu"), row.bleu, digits=1),
            found.get("sacrebleu", MISSING),
            found.get("step", MISSING),
        ]
        lines.append([row.name, row.changed, *told])
    return lines


def millions(row: Row) -> str:
    """Return the paper's count as it is printed there."""
    return MISSING if row.millions is None else f"{row.millions}M"


def beside(ours: str | None, paper: float, *, digits: int) -> list[str]:
    """Return our figure, the paper's, and the difference."""
    if ours is None:
        return [MISSING, f"{paper:.{digits}f}", MISSING]
    return [f"{float(ours):.{digits}f}", f"{paper:.{digits}f}", f"{float(ours) - paper:+.{digits}f}"]


def measured(row: str) -> dict[str, str]:
    """Return what a run of ours came to, as far as it has."""
    last, scored = Path("runs") / row / "last", Path("out") / f"{row}.json"
    found: dict[str, str] = {}
    if last.exists():
        description = open_model_folder(last).description
        found["parameters"] = f"{parameters(description.model, description.target_vocab_size):,}"
        found["step"] = f"{description.step:,}"
        if perplexity := description.scores.get("validation_perplexity"):
            found["perplexity"] = str(perplexity)
    if scored.exists():
        scores = json.loads(scored.read_text(encoding="utf-8"))["scores"]
        found["sacrebleu"] = f"{scores['sacrebleu']['score']:.1f}"
        found["bleu"] = str(scores["bleu_paper"]["score"])
    return found


def shown(lines: Sequence[Sequence[str]]) -> list[str]:
    """Return a table in columns, the first two to the left."""
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    return [
        "  ".join(
            cell.ljust(width) if column < 2 else cell.rjust(width)  # noqa: PLR2004
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    ]


def main() -> None:
    """Print one of the two tables."""
    kind, names = sys.argv[1], sys.argv[2:]
    known = paper_rows()
    if unknown := [name for name in names if name not in known]:
        sys.exit(f"no row of table 3 is called {', '.join(unknown)}; there are {' '.join(known)}")
    try:
        lines = (counts if kind == "counts" else table)([known[name] for name in names])
    except NmtError as error:
        sys.exit(str(error))
    print("\n".join(shown(lines)))
    if kind == "table":
        print(
            "ppl: of our subwords on newstest2013, without smoothing; BLEU: quotes made straight, tokenised, compound "
            "split, cased,\non newstest2013 (the protocol of the paper's script); sacreBLEU: 13a, cased. Last "
            "checkpoint, no averaging."
        )


if __name__ == "__main__":
    main()
