"""`nmt translate` as it is started: the line contract, its options, what it refuses."""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(sys.executable).parent / "nmt"
SECONDS = 60
ODD_LINES = "a b\n c\u2028d\n e\u0085f\n g\x0bh\x0ci\n j\rk\n l\x1cm\x1dn\x1eo\n \n p\u2029q\r\n \ufeffr\n s".encode()
SENTENCES = ["the dog sees a cat", "old bread", "with the teacher between the river and the bridge", "ł 漢 🙂 ё", "x"]


def translate(*arguments: object, data: bytes = b"", **environment: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [PROGRAM, "translate", *map(str, arguments)],
        input=data,
        capture_output=True,
        check=False,
        env=os.environ | {"OMP_NUM_THREADS": "1"} | environment,
        timeout=4 * SECONDS,
    )


def started(model: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [PROGRAM, "translate", "--model", model],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )


def alone(model: Path, lines: list[str], **settings: object) -> list[str]:
    """Translate each line by itself, in this process."""
    from nmt_cli import Translator

    translator = Translator.load(model)
    search = translator.search.model_copy(update=settings)
    return [translator.translate([line], search=search)[0].text for line in lines]


def texts(run: subprocess.CompletedProcess[bytes]) -> list[str]:
    assert run.returncode == 0, run.stderr.decode()
    assert run.stdout.endswith(b"\n")
    return run.stdout.decode("utf-8").removesuffix("\n").split("\n")


@pytest.mark.parametrize("how", ["stdin", "file"])
def test_only_lf_ends_a_line_so_that_ten_lines_give_ten(model_folder: Path, tmp_path: Path, how: str) -> None:
    path = tmp_path / "odd.en"
    path.write_bytes(ODD_LINES)
    run = translate("--model", model_folder, *([path] if how == "file" else []), data=ODD_LINES)
    lines = ODD_LINES.decode().replace("\r\n", "\n").split("\n")
    assert len(lines) == 10
    assert texts(run) == alone(model_folder, lines)
    assert b"\r" not in run.stdout
    assert b"\t" not in run.stdout


def test_answer_i_belongs_to_line_i_over_several_chunks_with_blank_lines(model_folder: Path) -> None:
    blank = {*range(1, 2501, 4), 1, 2, 2499, 2500}
    lines = ["" if n in blank else f"{SENTENCES[n % 5]} {n % 9}" for n in range(1, 2501)]
    run = translate("--model", model_folder, "--max-extra", "0", data=("\n".join(lines) + "\n").encode())
    different = sorted(set(lines))
    expected = dict(zip(different, alone(model_folder, different, max_extra=0), strict=True))
    assert texts(run) == [expected[line] for line in lines]
    assert expected[""] == ""


def test_no_batch_is_left_out_and_batches_do_not_change_the_text(model_folder: Path) -> None:
    lines = [f"{SENTENCES[n % 5]} {SENTENCES[n % 3]}" * (1 + n % 4) for n in range(13)]
    data = "\n".join(lines).encode()
    found = texts(translate("--model", model_folder, "--beam-size", "5", "--batch-tokens", "200", data=data))
    assert len(found) == 13
    assert found == alone(model_folder, lines, beam_size=5)
    backwards = "\n".join(lines[::-1]).encode()
    assert found == texts(translate("--model", model_folder, "--beam-size", "5", data=backwards))[::-1]


def test_n_best_comes_as_a_record_a_line_and_begins_with_the_one_best(model_folder: Path) -> None:
    lines = ["", *SENTENCES, " ", "the red garden"]
    options = ["--model", model_folder, "--beam-size", "5"]
    run = translate(*options, "--n-best", "5", data="\n".join(lines).encode())
    records = [json.loads(line) for line in texts(run)]
    assert [record["line"] for record in records] == list(range(1, 9))
    assert [record["translations"][0]["text"] for record in records] == alone(model_folder, lines, beam_size=5)
    for record in records:
        scores = [candidate["score"] for candidate in record["translations"]]
        assert scores == sorted(scores, reverse=True)
        assert len({candidate["text"] for candidate in record["translations"]}) == len(scores)
    assert [len(records[i]["translations"]) for i in (0, 6)] == [1, 1]


def test_json_lines_may_be_asked_for_with_one_translation(model_folder: Path) -> None:
    [record] = [json.loads(line) for line in texts(translate("--model", model_folder, "--format=jsonl", data=b"cat"))]
    assert record["parts"] == 1
    assert record["translations"][0].keys() == {"text", "score", "log_prob", "is_cut", "is_loop"}


@pytest.mark.parametrize(
    "arguments",
    [
        ["--n-best", "10", "--beam-size", "5"],
        ["--set", "search.n_best=10", "--beam-size", "5"],
        ["--beam-size", "0"],
        ["--alpha", "-1"],
        ["--set", "search.bean_size=4"],
        ["--format", "text", "--n-best", "2", "--beam-size", "1"],
    ],
    ids=" ".join,
)
def test_impossible_searches_are_refused_before_the_model_is_opened(arguments: list[str]) -> None:
    run = translate("--model", "no-such-model", *arguments)
    assert run.returncode == 2
    assert run.stdout == b""
    assert b"no-such-model" not in run.stderr
    assert len(run.stderr.splitlines()) == 1


def test_more_answers_than_the_models_own_beam_are_refused(model_folder: Path) -> None:
    run = translate("--model", model_folder, "--n-best", "3")
    assert (run.returncode, run.stderr) == (2, b"nmt: settings: n_best is 3, but beam_size is 2; raise beam_size\n")


LOCALES = [
    {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"},
    {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "cp1252"},
]


@pytest.mark.parametrize("locale", LOCALES, ids=["ascii", "cp1252"])
def test_text_is_utf8_whatever_the_locale(model_folder: Path, tmp_path: Path, locale: dict[str, str]) -> None:
    source, target = tmp_path / "ł.en", tmp_path / "ё.de"
    data = "\n".join(SENTENCES).encode() + b"\nsch\xf6n \xe4\n"
    source.write_bytes(data)
    run = translate("--model", model_folder, data=data, **locale)
    assert texts(run) == alone(model_folder, [*SENTENCES, "sch\ufffdn \ufffd"])
    assert "1 line not UTF-8, first standard input:6:4; bad bytes replaced" in run.stderr.decode().splitlines()
    packed = translate("--model", model_folder, source, "--output", target, **locale)
    assert (packed.returncode, packed.stdout) == (0, b"")
    assert target.read_bytes() == run.stdout


def test_strictness_refuses_a_bad_byte_and_writes_nothing(model_folder: Path, tmp_path: Path) -> None:
    source, target = tmp_path / "text.en", tmp_path / "text.de"
    source.write_bytes(b"the dog\nsch\xf6n\n")
    run = translate("--model", model_folder, "--strict", source, "--output", target)
    assert run.returncode == 3
    assert run.stderr.decode().startswith(f"nmt: {source}:2:4: not UTF-8")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["text.en"]


def test_a_long_line_is_named_and_leaves_the_others_alone(model_folder: Path) -> None:
    options = ["--model", model_folder, "--max-extra", "0", "--beam-size", "1"]
    lines = ["old bread", "the dog " * 700, "red cat"]
    run = translate(*options, data="\n".join(lines).encode())
    answers = texts(run)
    assert [answers[0], answers[2]] == alone(model_folder, [lines[0], lines[2]], max_extra=0, beam_size=1)
    said = run.stderr.decode().splitlines()
    assert any(line.startswith("standard input:2: ") for line in said)
    assert "1 input over the limit of 1,024 tokens, translated in parts" in said
    refused = translate(*options, "--strict", "--quiet", data="\n".join(lines).encode())
    assert (refused.returncode, refused.stdout) == (3, b"")
    assert refused.stderr.decode().startswith("nmt: standard input:2: ")


def test_each_answer_comes_before_the_next_question_and_half_a_line_is_answered(model_folder: Path) -> None:
    questions = [f"{SENTENCES[n % 5]} {n}" for n in range(10)]
    expected = alone(model_folder, [*questions, "half a line"])
    with started(model_folder) as program:
        assert program.stdin is not None
        assert program.stdout is not None
        for question, answer in zip(questions, expected[:-1], strict=True):
            program.stdin.write(question.encode() + b"\n")
            assert select.select([program.stdout], [], [], SECONDS)[0], question
            assert program.stdout.readline().decode() == answer + "\n"
        program.stdin.write(b"half a line")
        program.stdin.close()
        assert program.stdout.read().decode() == expected[-1] + "\n"
        assert program.wait(SECONDS) == 0


def test_a_reader_that_goes_ends_the_program_quietly_with_141(model_folder: Path) -> None:
    with started(model_folder) as program:
        assert program.stdin is not None
        assert program.stdout is not None
        assert program.stderr is not None
        program.stdin.write(b"old bread\n")
        program.stdout.readline()
        program.stdout.close()
        program.stdin.write(b"old bread\n")
        assert program.wait(SECONDS) == 141
        [line] = program.stderr.read().splitlines()
        assert line.startswith(b"engine: torch (float32), since the length penalty is wu")


def test_the_model_may_be_named_in_the_environment(model_folder: Path) -> None:
    run = translate(data=b"old bread\n", NMT_MODEL=str(model_folder))
    assert texts(run) == alone(model_folder, ["old bread"])
    assert run.stderr.decode().splitlines()[0] == f"model: {model_folder} (NMT_MODEL)"


def test_without_a_model_one_line_says_which_it_is_and_how_to_name_another() -> None:
    run = translate(data=b"Thank you.\n", NMT_MODEL="")
    assert len(texts(run)) == 1
    model, engine = run.stderr.decode().splitlines()
    assert model.startswith("model: the built-in one")
    assert "--model" in model
    assert engine == "engine: ctranslate2 (int8)"


def damage_weights(folder: Path) -> None:
    weights = folder / "weights.safetensors"
    data = bytearray(weights.read_bytes())
    data[-5] ^= 1
    weights.write_bytes(data)


def exchange_subwords(folder: Path) -> None:
    subwords = folder / "subwords.model"
    subwords.write_bytes(subwords.read_bytes().replace(b"dog", b"cow", 1))


def leave_only_a_manifest(folder: Path) -> None:
    (folder / "model.json").unlink()
    (folder / "manifest.json").write_text('{"kind": "data"}', encoding="utf-8")


def hide_in_a_run(folder: Path) -> None:
    (folder / "last").mkdir()
    (folder / "model.json").rename(folder / "last" / "model.json")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (damage_weights, "weights.safetensors: damaged"),
        (exchange_subwords, "subwords.model: damaged or edited: sha256"),
        (leave_only_a_manifest, "this is a data folder"),
        (hide_in_a_run, "this is a run: use"),
        (shutil.rmtree, "no such folder"),
    ],
)
def test_what_is_no_whole_model_is_refused_in_one_line(model_folder: Path, tmp_path: Path, change, said: str) -> None:
    folder = tmp_path / "model"
    shutil.copytree(model_folder, folder)
    change(folder)
    run = translate("--model", folder, data=b"x\n")
    assert (run.returncode, run.stdout) == (4, b"")
    assert said in run.stderr.decode()
    assert len(run.stderr.splitlines()) == 1


def test_an_input_that_is_missing_or_a_folder_is_refused(model_folder: Path, tmp_path: Path) -> None:
    for path in [tmp_path, tmp_path / "missing.en"]:
        run = translate("--model", model_folder, path)
        assert (run.returncode, run.stdout) == (3, b"")
        assert run.stderr.decode().startswith(f"nmt: {path}: ")


def test_an_output_that_is_the_input_or_a_folder_is_refused(model_folder: Path, tmp_path: Path) -> None:
    source = tmp_path / "text.en"
    source.write_bytes(b"old bread\n")
    (tmp_path / "link").symlink_to(source)
    for target in [source, tmp_path / "link", tmp_path, tmp_path / "missing" / "text.de", Path("/dev/null")]:
        run = translate("--model", model_folder, source, "--output", target)
        assert run.returncode == 2, target
        assert len(run.stderr.splitlines()) == 1
    assert source.read_bytes() == b"old bread\n"


def test_an_empty_input_gives_an_empty_output(model_folder: Path, tmp_path: Path) -> None:
    target = tmp_path / "text.de"
    run = translate("--model", model_folder, "-", "--output", target)
    assert (run.returncode, run.stdout, run.stderr) == (0, b"", b"")
    assert target.read_bytes() == b""


def test_a_gpu_that_is_not_there_is_refused(model_folder: Path) -> None:
    run = translate("--model", model_folder, "--device", "cuda", data=b"x\n", CUDA_VISIBLE_DEVICES="")
    assert run.returncode == 2
    assert b"no GPU" in run.stderr
