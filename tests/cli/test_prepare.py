"""`nmt prepare` as it is typed: exit codes, one line for a mistake, nothing half-written."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from nmt_cli.cli.main import app
from nmt_cli.corpora.data_folder import open_data_folder
from nmt_cli.errors import NmtError

PROGRAM = Path(sys.executable).parent / "nmt"
LANGUAGES = ["--source-lang", "en", "--target-lang", "de"]
OWN = ["--source", "t.en", "--target", "t.de", *LANGUAGES, "--out", "out"]
OTHER_CONSOLES = {
    "ascii": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii", "PYTHONCOERCECLOCALE": "0"},
    "cp1252": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "cp1252", "PYTHONCOERCECLOCALE": "0"},
}


def prepare(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    run = subprocess.run(
        [PROGRAM, "prepare", *arguments], cwd=folder, capture_output=True, check=False, env=os.environ | environment
    )
    assert b"Traceback" not in run.stderr, run.stderr.decode()
    return run


def refused(folder: Path, *arguments: str, code: int) -> str:
    """Return the one line of a refusal that leaves nothing behind."""
    before = sorted(folder.rglob("*"))
    run = prepare(folder, *arguments)
    assert (run.returncode, run.stdout) == (code, b""), run.stderr.decode()
    line = run.stderr.decode()
    assert line.startswith("nmt: ")
    assert line.count("\n") == 1
    assert sorted(folder.rglob("*")) == before
    return line


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for language, word in [("en", "house"), ("de", "Haus")]:
        (tmp_path / f"t.{language}").write_bytes("".join(f"{word} {n}\n" for n in range(20)).encode())
    return tmp_path


def test_two_files_become_a_data_folder_and_stdout_stays_empty(folder: Path) -> None:
    run = prepare(folder, *OWN)
    assert (run.returncode, run.stdout) == (0, b"")
    assert run.stderr == b"20 of 20 pairs kept\nout: 16 train, 2 valid, 2 test\n"
    assert open_data_folder(folder / "out").counts == {"train": 16, "valid": 2, "test": 2}


def test_quiet_says_nothing(folder: Path) -> None:
    run = prepare(folder, *OWN, "--quiet")
    assert (run.returncode, run.stdout, run.stderr) == (0, b"", b"")


def test_a_table_of_two_columns_needs_no_target_and_the_folder_is_named_by_the_file(folder: Path) -> None:
    (folder / "pairs.tsv").write_bytes(b'one\teins\n"two\tzwei\tx\nthree\n\t\n')
    run = prepare(folder, "--source", "pairs.tsv", *LANGUAGES)
    assert b"2 of 4 pairs kept; dropped: 1 missing_column, 1 empty\n" in run.stderr
    assert (folder / "data/pairs-en-de/train.en").read_bytes() == b'one\n"two\n'


def test_held_out_files_lower_casing_moses_and_settings_are_taken_from_the_command_line(folder: Path) -> None:
    for name in ("v.en", "v.de", "x.en", "x.de"):
        (folder / name).write_bytes(f"It's {name}!\n".encode())
    held_out = ["--valid-source", "v.en", "--valid-target", "v.de", "--test-source", "x.en", "--test-target", "x.de"]
    run = prepare(folder, *OWN, *held_out, "--lowercase", "--moses", "--set", "cleaning.max_words=1")
    assert run.returncode == 3
    run = prepare(folder, *OWN, *held_out, "--lowercase", "--moses", "--set", "cleaning.max_words=2")
    assert run.returncode == 0, run.stderr.decode()
    data = open_data_folder(folder / "out")
    assert data.counts == {"train": 20, "valid": 1, "test": 1}
    assert data.file("valid", "en").read_bytes() == b"it 's v.en !\n"
    assert (data.text.lowercase, data.text.moses) == (True, True)


def test_an_existing_data_folder_is_replaced_only_with_force(folder: Path) -> None:
    prepare(folder, *OWN)
    digest = open_data_folder(folder / "out").digest
    (folder / "t.de").write_bytes((folder / "t.de").read_bytes().replace(b"Haus", b"Heim"))
    assert "--force" in refused(folder, *OWN, code=2)
    assert open_data_folder(folder / "out").digest == digest
    assert prepare(folder, *OWN, "--force").returncode == 0
    assert open_data_folder(folder / "out").digest != digest


def test_a_folder_that_is_no_data_folder_is_not_replaced_even_with_force(folder: Path) -> None:
    (folder / "out").mkdir()
    (folder / "out" / "letters.txt").write_bytes(b"dear")
    assert "no complete data folder" in refused(folder, *OWN, "--force", code=2)
    assert (folder / "out" / "letters.txt").read_bytes() == b"dear"


def test_a_failure_with_force_leaves_the_old_folder_as_it_was(folder: Path) -> None:
    prepare(folder, *OWN)
    digest = open_data_folder(folder / "out").digest
    (folder / "t.de").write_bytes(b"one line\n")
    assert refused(folder, *OWN, "--force", code=3) == "nmt: t.en: 20 lines, but t.de: 1; they must be parallel\n"
    assert open_data_folder(folder / "out").digest == digest


def test_its_own_output_is_not_read_and_replaced_in_one_go(folder: Path) -> None:
    prepare(folder, *OWN)
    own_output = ["--source", "out/train.en", "--target", "out/train.de", *LANGUAGES, "--out", "out", "--force"]
    assert "lies in out, which is to be written" in refused(folder, *own_output, code=2)


@pytest.mark.parametrize(
    ("arguments", "code", "expected"),
    [
        (["--source", "no.en", "--target", "t.de", *LANGUAGES], 3, "no.en: no such file"),
        (["--source", ".", "--target", "t.de", *LANGUAGES, "--out", "out"], 3, ".: is a folder"),
        (["--source", "t.en", *LANGUAGES], 3, "give the second file with --target"),
        (["--source", "t.en", "--target", "t.de", "--source-lang", "en"], 2, "--target-lang is needed"),
        (["--source", "t.en", "--target", "t.de", "--source-lang", "en", "--target-lang", "de/.."], 2, "'de/..'"),
        (["--source", "t.en", "--target", "t.en", *LANGUAGES], 2, "given twice"),
        (["--target", "t.de", *LANGUAGES], 2, "nmt prepare --list"),
        ([], 2, "nmt prepare --list"),
        (["demo-en-dd"], 2, "did you mean 'demo-en-de'"),
        (["demo-en-de", "--source", "t.en"], 2, "either a name or --source"),
        ([*OWN, "--set", "cleaning.max_ratio=0.5"], 2, "cleaning.max_ratio should be greater than or equal to 1"),
        ([*OWN, "--set", "max_ratio=2"], 2, "section.field=value"),
        ([*OWN[:-1], "t.en/out"], 2, "t.en/out: cannot be written"),
        ([*OWN[:-1], "t.en"], 2, "t.en: is to be read"),
        ([*OWN[:-1], "/proc/out"], 2, "/proc/out: cannot be written"),
    ],
    ids=lambda value: " ".join(value)[:60] if isinstance(value, list) else None,
)
def test_a_mistake_is_one_line_with_its_exit_code_and_leaves_nothing_behind(
    folder: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], code: int, expected: str
) -> None:
    monkeypatch.chdir(folder)
    before = sorted(folder.rglob("*"))
    with pytest.raises(NmtError) as caught:
        app(["prepare", *arguments], standalone_mode=False)
    assert caught.value.exit_code == code
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)
    assert sorted(folder.rglob("*")) == before


def test_list_prints_the_names_of_the_catalogue(tmp_path: Path) -> None:
    run = prepare(tmp_path, "--list")
    assert (run.returncode, run.stderr) == (0, b"")
    names = [line.split()[0] for line in run.stdout.decode().splitlines()]
    assert {"demo-en-de", "wmt14-en-de", "wmt16-en-de", "wmt14-en-fr", "multi30k-en-de", "tatoeba-en-zh"} <= set(names)


@pytest.mark.parametrize("console", OTHER_CONSOLES)
def test_a_console_that_is_not_utf_8_changes_nothing_on_disk_and_stops_nothing(folder: Path, console: str) -> None:
    text = "ł 漢 🙂 ё\n".encode()
    for language in ("en", "de"):
        name = f"ünï 漢.{language}"
        (folder / name).write_bytes(text + b"".join(b"%d\n" % n for n in range(120)) + b"caf\xe4\n")
    run = prepare(
        folder,
        *["--source", "ünï 漢.en", "--target", "ünï 漢.de", *LANGUAGES, "--out", "ö", "--set", "cleaning.n_valid=1"],
        **OTHER_CONSOLES[console],
    )
    assert run.returncode == 0, run.stderr.decode()
    assert b"121 of 122 pairs kept; dropped: 1 bad_bytes" in run.stderr
    assert b":122:4: not UTF-8" in run.stderr
    assert text in (folder / "ö" / "train.en").read_bytes()
    assert open_data_folder(folder / "ö").counts["valid"] == 1


def test_a_file_name_that_is_not_utf_8_is_no_obstacle(folder: Path) -> None:
    (folder / "t.en").rename(folder / os.fsdecode(b"caf\xe9.en"))
    arguments = [b"--source", b"caf\xe9.en", *map(os.fsencode, ["--target", "t.de", *LANGUAGES, "--out", "out"])]
    run = subprocess.run([os.fsencode(PROGRAM), b"prepare", *arguments], cwd=folder, capture_output=True, check=False)
    assert run.returncode == 0, run.stderr.decode()
    assert open_data_folder(folder / "out").counts["train"] == 16
