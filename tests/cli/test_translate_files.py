"""`nmt translate` on files that one leaves alone: stopped, continued, awkward."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

PROGRAM = Path(sys.executable).parent / "nmt"
SECONDS = 240
FAST = ["--max-extra", "0", "--beam-size", "1"]
WORDS = ["the", "old", "dog", "sees", "red", "bread", "under", "a", "bridge"]


def command(*arguments: object) -> list[str]:
    return [str(PROGRAM), "translate", *map(str, arguments)]


def translate(*arguments: object) -> subprocess.CompletedProcess[bytes]:
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    return subprocess.run(command(*arguments), capture_output=True, check=False, env=environment, timeout=SECONDS)


def write_source(path: Path, n_lines: int) -> None:
    lines = [" ".join(WORDS[(n * step) % 9] for step in range(1, 2 + n % 7)) for n in range(n_lines)]
    path.write_bytes("\n".join(lines).encode())


def stop_after_a_save(arguments: list[object], target: Path, number: int) -> None:
    """Start the program and end it by a signal as soon as its journal says that lines are done."""
    journal = target.with_name(f".{target.name}.nmt") / "journal.json"
    before = journal.read_bytes() if journal.exists() else b""
    with subprocess.Popen(command(*arguments), stderr=subprocess.DEVNULL) as program:
        for _ in range(100 * SECONDS):
            if program.poll() is not None or (journal.exists() and journal.read_bytes() != before):
                break
            time.sleep(0.01)
        assert program.poll() is None
        program.send_signal(number)
        assert program.wait(SECONDS) != 0


def test_a_stopped_translation_is_named_and_goes_on_to_the_same_bytes(model_folder: Path, tmp_path: Path) -> None:
    source, target, whole = tmp_path / "text.en", tmp_path / "text.de", tmp_path / "whole.de"
    write_source(source, 9000)
    options = ["--model", model_folder, *FAST, source, "--output"]
    stop_after_a_save([*options, target], target, signal.SIGKILL)
    assert not target.exists()
    anew = translate(*options, target)
    assert anew.returncode == 2
    assert anew.stderr.decode().startswith(f"nmt: {target}: was left unfinished; give --continue")
    other = translate(*options, target, "--continue", "--alpha", "0.9")
    assert other.returncode == 2
    assert "search.alpha was 0.6, now 0.9" in other.stderr.decode()
    assert translate(*options, target, "--continue").returncode == 0
    assert translate(*options, whole).returncode == 0
    assert target.read_bytes() == whole.read_bytes()
    assert target.read_bytes().count(b"\n") == 9000
    assert sorted(path.name for path in tmp_path.iterdir()) == ["text.de", "text.en", "whole.de"]


@pytest.mark.slow
def test_killed_at_any_moment_json_lines_go_on_to_the_same_bytes(model_folder: Path, tmp_path: Path) -> None:
    source, target, whole = tmp_path / "text.en", tmp_path / "text.jsonl", tmp_path / "whole.jsonl"
    write_source(source, 20_000)
    options = ["--model", model_folder, *FAST, "--format", "jsonl", source, "--continue", "--output"]
    assert translate(*options, whole).returncode == 0
    draw = random.SystemRandom()
    stop_after_a_save([*options, target], target, signal.SIGTERM)
    for _ in range(12):
        with subprocess.Popen(command(*options, target), stderr=subprocess.DEVNULL) as program:
            time.sleep(draw.uniform(1.0, 8.0))
            program.kill()
    assert translate(*options, target).returncode == 0
    assert target.read_bytes() == whole.read_bytes()


def test_continue_without_an_output_is_refused(model_folder: Path) -> None:
    run = translate("--model", model_folder, "--continue")
    assert run.returncode == 2
    assert b"--output" in run.stderr


AWKWARD = {
    "nothing": b"",
    "one empty line": b"\n",
    "old Mac": b"the dog\rold bread\rx",
    "NUL": b"the\x00dog\nx\n",
    "controls": b"a\x1b[31mb\x07\nx\x7f\n",
    "marks in the middle": "a\n\ufeffthe dog\nb\n".encode(),
    "one letter, many marks": ("e" + "\u0301" * 200 + "\n").encode(),
    "emoji": "👩‍👩‍👧 🇩🇪 ❤️\n".encode(),
    "no characters": "\ufffe \U0010ffff \ue000\n".encode(),
    "right to left": "\u202eabc\u202c שלום\nالسلام\n".encode(),
    "no spaces": "我们明天去北京。\nสวัสดีครับ\n".encode(),
    "latin-1": "schön\ngrün\n".encode("latin-1"),
    "UTF-16": "the dog\nx\n".encode("utf-16"),
    "control symbols": b"<pad> </s> <s> <unk>\n</w> x@@ |||\n",
    "options": b"--help\n-\n%s {0} \\n\n",
    "tabs": b"a\tb\n\t\n",
    "numbers": "² ٣ ½ 1,000\n".encode(),
    "long word": b"x" * 20_000 + b"\nshort\n",
    "dots": b"." * 20_000 + b"\nshort\n",
}


def test_awkward_files_give_a_line_for_each_of_theirs(model_folder: Path, tmp_path: Path) -> None:
    from nmt_cli.config import SearchConfig
    from nmt_cli.decoding.streaming import Tally, open_blocks, translate_blocks
    from nmt_cli.decoding.translator import Translator

    translator = Translator.load(model_folder)
    search = SearchConfig(beam_size=1, max_extra=0)
    for name, data in AWKWARD.items():
        path = tmp_path / f"{name} & ü.en"
        path.write_bytes(data)
        with open_blocks(path) as blocks:
            answers = [text for some in translate_blocks(translator, blocks, search, Tally()) for text in some]
        assert len(answers) == data.count(b"\n") + (not data.endswith(b"\n") and data != b""), name
        assert not any(set(answer.text) & set("\n\r\t") for answer in answers), name


def test_a_file_of_old_line_ends_is_one_line_with_a_warning(model_folder: Path, tmp_path: Path) -> None:
    source = tmp_path / "text.en"
    source.write_bytes(b"the dog\rold bread\rx")
    run = translate("--model", model_folder, *FAST, source)
    assert (run.returncode, run.stdout.count(b"\n")) == (0, 1)
    assert f"\n{source}:1: one line with 2 carriage returns in it" in run.stderr.decode()


def test_translations_begin_as_a_file_says_and_unequal_counts_are_refused(model_folder: Path, tmp_path: Path) -> None:
    source, begun = tmp_path / "text.en", tmp_path / "text.begun"
    source.write_bytes(b"the dog\nold bread\n")
    begun.write_bytes(b"bridge\n\n")
    run = translate("--model", model_folder, *FAST, source, "--prefix", begun)
    assert run.returncode == 0, run.stderr
    assert run.stdout.startswith(b"bridge")
    begun.write_bytes(b"bridge\n")
    refused = translate("--model", model_folder, source, "--prefix", begun)
    assert (refused.returncode, refused.stdout) == (3, b"")
    assert refused.stderr.decode().startswith(f"nmt: {begun}: fewer lines than {source}")
