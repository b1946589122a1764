"""A run held against the paper: what equals, what differs, what it cost, where it came from."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nmt_cli.batches.corpus import open_pieces
from nmt_cli.config import SubwordConfig, TextConfig
from nmt_cli.corpora.data_folder import DataDescription, SourceFile, open_data_folder, write_manifest
from nmt_cli.errors import DataError, ModelError
from nmt_cli.files import write_json
from nmt_cli.model_folder import ModelDescription, write_model_folder
from nmt_cli.scoring.scores import score_translations
from nmt_cli.sealed import write_sealed
from nmt_cli.settings_files import resolve, write_toml
from nmt_cli.subwords.encoding import encode_corpus
from nmt_cli.training.averaging import average_models
from nmt_cli.training.cost import scientific
from nmt_cli.training.start import run_training
from nmt_cli.training.state import Progress
from nmt_cli.views.paper import SETTINGS, paper_flops
from nmt_cli.views.report_forms import as_html, as_json, as_text_lines
from nmt_cli.views.run_facts import facts_of
from nmt_cli.views.run_report import Line, RunReport, report_of, scores_in

LOG = """\
T 63,045,632 parameters, reading paper, precision float32, vocabulary 37,000 and 37,000
T 9 pairs (0 longer than 256 tokens left out), 1 updates an epoch of 2 source and 3 target tokens
T 4,500,000 pairs (17 longer than 256 tokens left out), 5,000 updates an epoch of 24,000 source and 20,000 target tokens
"""
VALIDATION = {
    "kind": "validation",
    "validation_perplexity": 4.9,
    "validation_bleu": 25.25,
    "validation_bleu_signature": "nrefs:1|tok:13a",
}
# 2 x 3 and 4 numbers: what the weights of these folders hold.
WEIGHTS = {"a": np.zeros((2, 3), dtype=np.float32), "b": np.zeros(4, dtype=np.float32)}
NO_FIGURES: Mapping[str, Any] = {}


def write_model(folder: Path, preset: str, *changes: str, **description: object) -> Path:
    folder.mkdir(parents=True)
    subwords = folder.parent / f"{folder.name}.subwords"
    subwords.write_bytes(b"pieces")
    settings = resolve(preset=preset, config=None, assignments=changes)
    values = {
        "source_language": "en",
        "target_language": "de",
        "source_vocab_size": 37_000,
        "target_vocab_size": 36_500,
        "model": settings.model,
        "search": settings.search,
        "text": TextConfig(),
        "step": 100_000,
        "provenance": {"data": "d1", "nmt": "0.1.0", "torch": "2.13.0"},
    }
    described = ModelDescription.model_validate(values | description)
    write_model_folder(folder, weights=WEIGHTS, description=described, subwords={"subwords.model": subwords})
    return folder


MakeRun = Callable[..., Path]


@pytest.fixture
def make_run(tmp_path: Path) -> MakeRun:
    def make(preset: str, *changes: str, checkpoint: Mapping[str, object] | None = NO_FIGURES) -> Path:
        run = tmp_path / "run"
        run.mkdir()
        write_toml(run / "config.toml", resolve(preset=preset, config=None, assignments=changes))
        (run / "log.txt").write_text(LOG, encoding="utf-8")
        earlier = VALIDATION | {"step": 1, "validation_perplexity": 99.0}
        records = [
            json.dumps(one) for one in (earlier, VALIDATION | {"step": 99_000}, {"kind": "cost", "step": 100_000})
        ]
        (run / "metrics.jsonl").write_text("\n".join(records) + '\n{"kind": "valid', encoding="utf-8")
        if checkpoint is not None:
            folder = run / "checkpoints" / "step-00100000"
            write_model(folder, preset, *changes, **checkpoint)
            (folder / "training").mkdir()
            spent = Progress(step=100_000, device_seconds=12 * 3600 * 8.0, model_flops=2 * 10**17)
            write_sealed(folder / "training" / "state.json", spent.model_dump())
        return run

    return make


def line_of(report: RunReport, name: str, section: str = "") -> Line:
    (found,) = [line for line in report.lines if line.name == name and line.section.startswith(section)]
    return found


def differing(report: RunReport) -> set[str]:
    return {
        f"{line.section}.{line.name}"
        for line in report.lines
        if line.section in {"model", "training", "search"} and line.verdict == "differs"
    }


@pytest.mark.parametrize("preset", ["base", "big"])
def test_a_preset_of_the_paper_differs_in_nothing_and_is_found_by_itself(preset: str, make_run: MakeRun) -> None:
    report = report_of(facts_of(make_run(preset)))
    assert report.against == preset
    assert differing(report) == set()
    of_settings = [line for line in report.lines if line.section in {"model", "training", "search"}]
    assert len(of_settings) == len(SETTINGS) > 40
    assert all(line.where for line in of_settings)


def test_big_into_french_has_less_dropout(make_run: MakeRun) -> None:
    run = make_run("big", "model.dropout=0.1", checkpoint={"target_language": "fr"})
    assert differing(report_of(facts_of(run))) == set()
    assert line_of(report_of(facts_of(run)), "source vocabulary").paper == "about 32,000"


def test_what_differs_is_named_with_both_values_and_the_section(make_run: MakeRun) -> None:
    changes = ["model.reading=t2t-2017", "training.clip_norm=0.5", "search.beam_size=5"]
    report = report_of(facts_of(make_run("base", *changes)))
    of_2017 = {"model.positions", "model.attention_bias", "model.target_space"}
    assert differing(report) == of_2017 | {"training.clip_norm", "search.beam_size"}
    beam, clip = line_of(report, "beam_size"), line_of(report, "clip_norm")
    assert (beam.ours, beam.paper, beam.where, beam.verdict) == ("5", "4", "6.1", "differs")
    assert (clip.ours, clip.paper) == ("0.5", "none")
    text = "\n".join(as_text_lines(report))
    assert "! beam_size                5  paper: 4  (6.1)" in text
    assert "= alpha                    0.6  (6.1)" in text


def test_sizes_and_steps_are_counted_and_about_is_within_a_twentieth(make_run: MakeRun) -> None:
    report = report_of(facts_of(make_run("base")))
    found = {line.name: (line.ours, line.paper, line.verdict) for line in report.lines if line.section == "size"}
    assert found == {
        "parameters": ("10", "65M", "differs"),
        "source vocabulary": ("37,000", "about 37,000", "equal"),
        "target vocabulary": ("36,500", "about 37,000", "about"),
        "training pairs": ("4,500,000", "about 4,500,000", "equal"),
        "source tokens an update": ("24,000", "about 25,000", "about"),
        "target tokens an update": ("20,000", "about 25,000", "differs"),
        "steps done": ("100,000", "100,000", "equal"),
        "epochs done": ("20.0", "", ""),
    }


@pytest.mark.parametrize(
    ("steps", "told", "verdict"),
    [
        ([94_000, 95_500, 97_000, 98_500, 100_000], "mean of 5, 1,500 steps apart, the last of step 100,000", "equal"),
        ([97_000, 98_500, 100_000], "mean of 3, 1,500 steps apart, the last of step 100,000", "differs"),
        ([1, 3, 6, 8, 10], "mean of 5, 2 and 3 steps apart, the last of step 10", "differs"),
        ([], "one checkpoint, of step 100,000", "differs"),
    ],
)
def test_an_average_is_the_paper_s_when_number_and_spacing_are(
    steps: list[int], told: str, verdict: str, make_run: MakeRun, tmp_path: Path
) -> None:
    parents = [{"path": "x", "step": step, "weights": "w"} for step in reversed(steps)]
    model = write_model(tmp_path / "avg", "base", provenance={"data": "d1", "parents": parents})
    report = report_of(facts_of(make_run("base"), model=model))
    line = line_of(report, "avg")
    assert (line.ours, line.paper) == (told, "mean of the last 5, 1,500 steps apart")
    assert line.verdict == verdict
    assert not [line for line in report.lines if line.name == "origin"]


def test_a_model_of_other_data_is_said_to_be_one_and_searches_in_its_own_way(make_run: MakeRun, tmp_path: Path) -> None:
    model = write_model(tmp_path / "other", "base", "search.alpha=1.0", provenance={"data": "d2"})
    report = report_of(facts_of(make_run("base"), model=model))
    assert line_of(report, "origin").verdict == "differs"
    assert differing(report) == {"search.alpha"}


@pytest.mark.parametrize(
    ("language", "lowercase", "n_references", "comparable"),
    [
        ("de", False, 1, {"BLEU paper": "27.3 on newstest2014"}),
        ("fr", False, 1, {"BLEU tokenised": "38.1 on newstest2014"}),
        ("fr", True, 1, {}),
        ("de", False, 2, {}),
    ],
)
def test_only_the_comparable_protocol_has_the_paper_s_figure_beside_it(
    language: str, n_references: int, comparable: dict[str, str], make_run: MakeRun, *, lowercase: bool
) -> None:
    texts = [["Ein kleines Haus."]] * (1 + n_references)
    printed = score_translations(*texts, target_language=language, lowercase=lowercase).as_json()
    scores = scores_in(printed)
    report = report_of(facts_of(make_run("base", checkpoint={"target_language": language})), scores=scores)
    lines = [line for line in report.lines if line.section == "scores" and "validation" not in line.name]
    assert [line.name for line in lines] == ["sacreBLEU", "BLEU tokenised", "BLEU tokenised + split", "BLEU paper"]
    assert {line.name: line.paper for line in lines if line.paper != "not comparable"} == comparable
    assert all(line.ours.startswith("100.00 [nrefs:") or "sacre" in line.name for line in lines)


def test_the_last_validation_is_told_with_its_signature(make_run: MakeRun) -> None:
    report = report_of(facts_of(make_run("base")))
    assert line_of(report, "validation perplexity").ours == "4.90 at step 99,000"
    assert line_of(report, "validation sacreBLEU").ours == "25.25 [nrefs:1|tok:13a]"


def test_twelve_hours_of_eight_gpus_cost_what_table_2_says(make_run: MakeRun) -> None:
    assert paper_flops("base") == pytest.approx(3.283e18, rel=1e-3)
    assert paper_flops("big") == pytest.approx(2.298e19, rel=1e-3)
    facts = facts_of(make_run("base"))
    counted, arithmetic = (line_of(report_of(facts, sustained_tflops=9.5), name) for name in COST)
    assert counted.ours == "3.28e18 = 96.0 device hours x 9.5 TFLOP/s"
    assert counted.paper == "3.28e18 = 96 GPU hours x 9.5 TFLOP/s"
    assert (arithmetic.ours, arithmetic.paper) == ("2.00e17", "9.60e17")
    assert "state the rate" in line_of(report_of(facts), COST[0]).ours


COST = ("time x devices x rate", "model FLOPs")


def test_a_run_that_has_only_begun_is_told_as_far_as_it_is(make_run: MakeRun) -> None:
    run = make_run("base", checkpoint=None)
    (run / "log.txt").unlink()
    (run / "metrics.jsonl").unlink()
    report = report_of(facts_of(run))
    assert line_of(report, "steps done").ours == "0"
    assert line_of(report, "training", "cost").ours == "-"
    assert not [line for line in report.lines if line.name in {"parameters", "training pairs"}]


def encoded_corpus(folder: Path) -> Path:
    folder.mkdir()
    lines = [f"{word} {word[::-1]} {n}" for n in range(30) for word in ("house", "river", "bread", "child")]
    for language in ("en", "de"):
        for split in ("train", "valid"):
            kept = lines if split == "train" else lines[:3]
            (folder / f"{split}.{language}").write_text("".join(f"{line}\n" for line in kept), encoding="utf-8")
    write_json(folder / "report.json", {})
    description = DataDescription(
        source_language="en",
        target_language="de",
        text=TextConfig(),
        cleaning=None,
        counts={"train": len(lines), "valid": 3},
        sources=[SourceFile(name="raw.en", sha256="ab" * 32, lines=120)],
    )
    write_manifest(folder, description)
    encode_corpus(open_data_folder(folder), folder / "pieces", SubwordConfig(vocab_size=300))
    return folder


def test_data_are_followed_to_their_sources_and_other_data_are_called_so(make_run: MakeRun, tmp_path: Path) -> None:
    corpus = encoded_corpus(tmp_path / "corpus")
    digest = json.loads((corpus / "pieces" / "manifest.json").read_text())["digest"]
    run = make_run("base", checkpoint={"provenance": {"data": digest}})
    report = report_of(facts_of(run, data=[corpus]))
    assert line_of(report, "pieces trained on") == Line("digests", "pieces trained on", digest)
    assert line_of(report, "corpus from raw.en").ours == "ab" * 32
    manifest = json.loads((corpus / "manifest.json").read_text())
    assert line_of(report, "corpus/").ours == manifest["digest"]
    (corpus / "train.en").write_text("edited\n")
    with pytest.raises(DataError, match=r"train.en: damaged or edited"):
        facts_of(run, data=[corpus])


def test_other_data_than_the_run_names_differ(make_run: MakeRun, tmp_path: Path) -> None:
    report = report_of(facts_of(make_run("base"), data=[encoded_corpus(tmp_path / "corpus")]))
    assert line_of(report, "pieces trained on").verdict == "differs"


def test_a_run_of_nmt_train_is_read_as_it_was_written(tmp_path: Path) -> None:
    corpus = encoded_corpus(tmp_path / "corpus")
    changes = ["d_model=16", "d_ff=32", "n_heads=2", "n_encoder_layers=1", "n_decoder_layers=1"]
    steps = ["max_steps=2", "tokens_per_update=400", "save_every_steps=1", "validate_every_steps=2"]
    assignments = [f"model.{change}" for change in changes] + [f"training.{step}" for step in steps]
    machine = ["machine.device=cpu", "machine.ranks=1", "machine.sustained_tflops=0.5", "search.max_extra=2"]
    settings = resolve(preset="tiny", config=None, assignments=[*assignments, *machine])
    progress = run_training(corpus, tmp_path / "run", settings, quiet=True)
    model = average_models([tmp_path / "run" / "checkpoints" / f"step-0000000{n}" for n in (1, 2)], tmp_path / "mean")
    facts = facts_of(tmp_path / "run", model=model, data=[corpus])
    pieces = open_pieces(corpus)
    lengths = pieces.split("train").source.lengths
    assert facts.plan is not None
    assert facts.precision == "float32"
    assert facts.plan.pairs == 120
    assert facts.plan.source_tokens == round(int(lengths.sum()) / facts.plan.updates)
    # Two layers as the formula of the paper's shapes has them, and one row a piece.
    assert facts.n_parameters == 2_160 + 3_216 + 16 * pieces.source_vocab_size
    report = report_of(facts)
    assert line_of(report, "steps done").ours == "2"
    assert line_of(report, "mean").ours == "mean of 2, 1 steps apart, the last of step 2"
    assert line_of(report, "pieces trained on").verdict == ""
    assert f" {progress.device_seconds / 3600:,.1f} device hours x 0.5 TFLOP/s" in line_of(report, COST[0]).ours
    assert line_of(report, COST[1]).ours == scientific(progress.model_flops)
    assert "[nrefs:1|case:mixed|eff:no|tok:13a|" in line_of(report, "validation sacreBLEU").ours


def test_json_counts_what_it_lists(make_run: MakeRun) -> None:
    value = json.loads(json.dumps(as_json(report_of(facts_of(make_run("base"))))))
    for verdict in ("equal", "about", "differs"):
        assert value[verdict] == sum(line["verdict"] == verdict for line in value["lines"]) > 0
    assert (value["against"], value["target_language"]) == ("base", "de")


def test_the_page_shows_text_as_text_and_needs_nothing_from_elsewhere() -> None:
    line = Line("model", "<script>", "\u202ea & b", "", "", "differs")
    page = as_html(RunReport("run<b>", "base", "de", (line,)))
    assert "&lt;script&gt;" in page
    assert "\\u202ea &amp; b" in page
    assert "run&lt;b&gt;" in page
    assert not any(foreign in page for foreign in ("<script", "http", "src=", "\u202e"))
    assert page.count("<table>") == page.count("</table>") == 1


def nmt_report(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "error", "-c", "from nmt_cli.cli.main import main; main()", "report", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_command_prints_the_report_and_writes_the_page(make_run: MakeRun, tmp_path: Path) -> None:
    run, page = make_run("base"), tmp_path / "report.html"
    done = nmt_report(str(run), "--html", str(page), "--against", "big", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["against"] == "big"
    assert page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_what_is_no_run_or_no_scores_is_refused_in_one_line(make_run: MakeRun, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"no run \(config.toml is missing\)"):
        facts_of(tmp_path)
    scores = tmp_path / "scores.json"
    scores.write_text('{"scores": {"sacrebleu": 27.3}}')
    done = nmt_report(str(make_run("base")), "--scores", str(scores))
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr == f"nmt: {scores}: holds no scores of one system; write it with nmt score --json\n"


def test_an_edited_state_is_refused(make_run: MakeRun) -> None:
    run = make_run("base")
    state = run / "checkpoints" / "step-00100000" / "training" / "state.json"
    state.write_bytes(state.read_bytes().replace(b"345600", b"345601"))
    with pytest.raises(ModelError, match=r"state.json: damaged or edited"):
        facts_of(run)
