"""`nmt score` as it is typed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from nmt_cli.cli.score import language_code, language_of_file, remark_on_tokenised
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


def test_text_that_looks_tokenised_is_remarked_on_stderr_unless_quiet(folder: Path) -> None:
    (folder / "tok").write_bytes(b"Der Hund bellt .\nJa !\n")
    run = nmt_score("--reference", "test.de", "tok")
    assert run.stderr.decode().startswith("tok: 1 of 2 lines end in ' .', so it looks tokenised")
    assert nmt_score("--reference", "test.de", "--quiet", "tok").stderr == b""


def test_plain_sentences_are_not_taken_for_tokenised_ones() -> None:
    assert remark_on_tokenised(["Ja.", "Nein .", "Gut."]) == ""
    assert remark_on_tokenised(["Ja", "", "Nein!"]) == ""


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
