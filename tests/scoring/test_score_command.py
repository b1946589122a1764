"""`nmt score` as it is typed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from nmt_cli.cli.score_text import language_code, language_of_file, remarks_on
from nmt_cli.errors import UsageError

# User report 1: ten records, whatever else in them looks like the end of a line.
TEN_RECORDS = (
    b"a b\nc\xe2\x80\xa8d\ne\xc2\x85f\ng\x0bh\x0ci\nj\rk\nl\x1cm\x1dn\x1eo\n\np\xe2\x80\xa9q\r\n\xef\xbb\xbfr\ns"
)
REFERENCE = "Der Hund schläft im Garten.\nDie Nord-Ost-Halle ist groß.\n"
TRANSLATION = "Der Hund schläft im Garten.\nDie Nord-Ost-Halle war groß.\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "test.de").write_bytes(REFERENCE.encode())
    (tmp_path / "test.hyp").write_bytes(TRANSLATION.encode())
    (tmp_path / "empty").write_bytes(b"")
    return tmp_path


def nmt_score(*arguments: str, text: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-W", "error", "-c", "from nmt_cli.cli.main import main; main()", "score", *arguments]
    return subprocess.run(command, input=text, capture_output=True, check=False)


@pytest.mark.usefixtures("folder")
def test_the_first_line_is_sacrebleu_with_its_signature_and_no_line_lacks_one() -> None:
    run = nmt_score("--reference", "test.de", "test.hyp")
    assert (run.returncode, run.stderr) == (0, b"")
    lines = run.stdout.decode().splitlines()
    # 10 of 11 words, 7 of 9 pairs, 4 of 7 triples, 3 of 5 fours; the fourth root of 8/33.
    assert lines[0].startswith("sacreBLEU   70.17  detokenised, cased  [nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|")
    assert len(lines) == 7
    assert all("[nrefs:1|case:" in line for line in lines)
    assert "Moses rules for de" in lines[1]


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("arguments", [(), ("-",)])
def test_standard_input_gives_what_the_file_gives(arguments: tuple[str, ...]) -> None:
    from_file = nmt_score("--reference", "test.de", "test.hyp")
    from_stdin = nmt_score("--reference", "test.de", *arguments, text=TRANSLATION.encode())
    assert from_stdin.stdout == from_file.stdout != b""


@pytest.mark.usefixtures("folder")
def test_json_is_one_object_with_names_and_signatures() -> None:
    run = nmt_score("--reference", "test.de", "--reference", "test.hyp", "--json", "--target-lang", "fr", "test.hyp")
    value = json.loads(run.stdout)
    assert run.stdout.count(b"\n") == 1
    assert (value["hypothesis"], value["references"], value["lines"]) == ("test.hyp", ["test.de", "test.hyp"], 2)
    assert value["scores"]["sacrebleu"]["score"] == pytest.approx(100)
    assert value["scores"]["ter"]["score"] == 0
    assert all(result["signature"].startswith("nrefs:2|") for result in value["scores"].values())
    assert "tok:moses-fr" in value["scores"]["bleu_tokenised"]["signature"]


@pytest.mark.usefixtures("folder")
def test_tokeniser_and_case_are_options_and_stand_in_the_signature() -> None:
    run = nmt_score("--reference", "test.de", "--tokenize", "intl", "--lowercase", "test.hyp")
    assert b"case:lc|eff:no|tok:intl" in run.stdout.splitlines()[0]


def test_ten_records_are_ten_lines_from_file_and_standard_input(folder: Path) -> None:
    (folder / "ten").write_bytes(TEN_RECORDS)
    for run in (
        nmt_score("--reference", "ten", "--json", "ten"),
        nmt_score("--reference", "ten", "--json", text=TEN_RECORDS),
    ):
        value = json.loads(run.stdout)
        assert value["lines"] == 10
        assert value["scores"]["sacrebleu"]["score"] == pytest.approx(100)


@pytest.mark.usefixtures("folder")
def test_an_empty_line_of_the_translation_counts_as_an_empty_translation() -> None:
    run = nmt_score("--reference", "test.de", "--json", text=b"\n\n")
    assert json.loads(run.stdout)["scores"]["sacrebleu"]["score"] == 0
    assert json.loads(run.stdout)["scores"]["ter"]["score"] == 100


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("arguments", "text", "code", "message"),
    [
        (["--reference", "test.de"], b"one\n", 3, "standard input: 1 lines, but test.de: 2; they must be parallel"),
        (["--reference", "test.de", "empty"], b"", 3, "empty: 0 lines, but test.de: 2; they must be parallel"),
        (["--reference", "empty", "empty"], b"", 3, "empty and empty: no lines (0 and 0); there is nothing to score"),
        (["--reference", "nowhere", "test.hyp"], b"", 3, "nowhere: no such file"),
        (["--reference", "test.de", "."], b"", 3, ".: is a folder; a file is expected"),
        (["--reference", "test.de"], b"a\nb\xe4\n", 3, "standard input:2:2: not UTF-8; convert the text first"),
        (
            ["--reference", "test.de", "--target-lang", "German!", "test.hyp"],
            b"",
            2,
            "--target-lang 'German!' is no language code; give one such as de, fr or zh",
        ),
    ],
)
def test_a_mistake_is_one_line_that_names_it(arguments: list[str], text: bytes, code: int, message: str) -> None:
    run = nmt_score(*arguments, text=text)
    assert (run.returncode, run.stdout, run.stderr.decode()) == (code, b"", f"nmt: {message}\n")


@pytest.mark.usefixtures("folder")
def test_a_reference_is_needed_and_a_tokeniser_must_exist() -> None:
    assert nmt_score("test.hyp").returncode == 2
    assert nmt_score("--reference", "test.de", "--tokenize", "moses", "test.hyp").returncode == 2


def test_a_reference_in_chinese_is_scored_by_its_signs(folder: Path) -> None:
    (folder / "test.zh").write_text("我喜欢机器。\n你好吗？\n", encoding="utf-8")
    run = nmt_score("--reference", "test.zh", "--json", text="我爱机器。\n你好吗？\n".encode())
    scores = json.loads(run.stdout)["scores"]
    assert (run.stderr, scores.keys()) == (b"", {"sacrebleu", "chrf2", "ter"})
    # Of 5 + 4 signs, 8 are right.
    assert scores["sacrebleu"]["precisions"][0] == pytest.approx(100 * 8 / 9)
    named = nmt_score("--reference", "test.zh", "--json", "--target-lang", "zh-Hans", text="我\n你\n".encode())
    assert "tok:zh" in json.loads(named.stdout)["scores"]["sacrebleu"]["signature"]


def test_text_that_looks_tokenised_is_remarked_on_stderr_unless_quiet(folder: Path) -> None:
    (folder / "tok").write_bytes(b"Der Hund bellt .\nJa !\n")
    run = nmt_score("--reference", "test.de", "tok")
    assert run.stderr.decode().startswith("tok: 1 of 2 lines end in ' .', so it looks tokenised")
    assert nmt_score("--reference", "test.de", "--quiet", "tok").stderr == b""


@pytest.mark.parametrize(
    ("lines", "tokeniser", "remarks"),
    [
        (["Ja.", "Nein .", "Gut."], "13a", []),
        (["Ja", "Nein!"], "13a", []),
        (["Ja .", "Nein ."], "none", []),
        (["我喜欢", "x", "机器。"], "13a", ["2 of 3 lines hold Chinese or Japanese, which tokeniser '13a'"]),
        (["我喜欢", "机器。"], "zh", []),
        (["猫です", "かな"], "char", []),
        (["", "x", " "], "13a", ["2 of 3 lines are empty, and scored as they are"]),
    ],
)
def test_only_what_looks_wrong_is_remarked(lines: list[str], tokeniser: str, remarks: list[str]) -> None:
    found = remarks_on(lines, tokeniser=tokeniser)
    assert len(found) == len(remarks)
    assert all(remark.startswith(beginning) for remark, beginning in zip(found, remarks, strict=True))


@pytest.mark.usefixtures("folder")
def test_several_systems_have_their_scores_each_and_p_against_the_first() -> None:
    sure = ("--significance", "randomisation", "--samples", "64", "--seed", "5")
    run = nmt_score("--reference", "test.de", *sure, "test.hyp", "test.de", "-", text=REFERENCE.encode())
    assert (run.returncode, run.stderr) == (0, b"")
    blocks = [block.splitlines() for block in run.stdout.decode().split("\n\n")]
    names = ["test.hyp", "test.de, against test.hyp", "standard input, against test.hyp"]
    assert [block[0] for block in blocks] == names
    assert all(len(block) == 8 and "|ar:64|bs:1000|seed:5]  95 %: " in line for block in blocks for line in block[1:])
    assert "; " not in blocks[0][1].split("]")[-1]
    # Two lines, of which one differs: every exchange leaves them as far apart or swaps them.
    assert blocks[1][1].endswith("  95 %: 100.00 to 100.00; +29.83, p = 1.0000")
    assert blocks[1][1:] == blocks[2][1:]


@pytest.mark.usefixtures("folder")
def test_json_has_a_record_a_system_with_interval_and_comparison() -> None:
    run = nmt_score("--reference", "test.de", "--json", "--significance", "bootstrap", "test.hyp", "test.de")
    value = json.loads(run.stdout)
    assert (value["references"], value["lines"]) == (["test.de"], 2)
    first, second = value["systems"]
    assert (first["hypothesis"], second["hypothesis"]) == ("test.hyp", "test.de")
    assert "against_first" not in first["scores"]["ter"]
    assert first["scores"]["sacrebleu"]["signature"].endswith("|bs:1000|seed:12345")
    assert second["scores"]["sacrebleu"]["against_first"]["difference"] == pytest.approx(29.83, abs=0.005)
    # One line is right and one has a wrong word of six; a sample of two lines may be all the one or all the other.
    assert first["scores"]["ter"]["interval_95"]["low"] == 0
    assert first["scores"]["ter"]["interval_95"]["high"] == pytest.approx(100 / 4)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    "arguments",
    [
        ("--reference", "test.de", "-", "-"),
        ("--reference", "test.de", "--samples", "9", "test.hyp"),
        ("--reference", "test.de", "--significance", "randomisation", "test.hyp"),
        ("--model", "x", "--source", "y", "--significance", "bootstrap", "test.hyp"),
        ("--model", "x", "--source", "y", "test.hyp", "test.de"),
    ],
)
def test_options_that_contradict_each_other_are_refused(arguments: tuple[str, ...]) -> None:
    run = nmt_score(*arguments)
    assert (run.returncode, run.stdout) == (2, b"")


@pytest.mark.parametrize(
    ("name", "language"),
    [("test.de", "de"), ("a/test.2016.fr.gz", "fr"), ("ref.zh", "zh"), ("reference.txt", "en"), ("de", "en")],
)
def test_the_language_is_the_ending_of_the_reference_s_name(name: str, language: str) -> None:
    assert language_of_file(Path(name)) == language


def test_a_language_code_may_carry_a_region() -> None:
    assert [language_code(text) for text in ("de", "DE", "pt-BR", "zh_Hans")] == ["de", "de", "pt", "zh"]
    for text in ("", "d", "de.", "german"):
        with pytest.raises(UsageError, match="is no language code"):
            language_code(text)
