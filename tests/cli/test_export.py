"""`nmt export` as it is started: what it writes, says and refuses."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from nmt_cli.model_folder import open_model_folder, subword_files, write_model_folder

PROGRAM = Path(sys.executable).parent / "nmt"


def export(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [PROGRAM, "export", *map(str, arguments)],
        capture_output=True,
        check=False,
        encoding="utf-8",
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        timeout=240,
    )


def test_a_model_stored_in_int8_is_exported_so_and_checked_on_the_text_given(
    model_folder: Path, tmp_path: Path
) -> None:
    opened = open_model_folder(model_folder)
    (tmp_path / "small").mkdir()
    description = opened.description.model_copy(update={"stored_as": "int8"})
    write_model_folder(
        tmp_path / "small", weights=opened.weights(), description=description, subwords=subword_files(opened)
    )
    text = tmp_path / "text.en"
    text.write_text("the red dog\n\na cat\n", encoding="utf-8")
    run = export(tmp_path / "small", "--to", "ctranslate2", tmp_path / "out", "--check", text)
    assert run.returncode == 0, run.stderr
    assert run.stdout == ""
    assert f"{tmp_path / 'out'}: for CTranslate2, weights in int8; " in run.stderr
    assert " of 2 lines as by torch" in run.stderr
    manifest = json.loads((tmp_path / "out" / "nmt.json").read_text(encoding="utf-8"))
    assert (manifest["form"], manifest["check"]["checked"]) == ("int8", 2)


def test_a_marian_folder_is_written_in_silence_when_asked(model_folder: Path, tmp_path: Path) -> None:
    run = export(model_folder, "--to", "huggingface", tmp_path / "new" / "out", "--quiet")
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")
    assert {"config.json", "model.safetensors", "vocab.json"} <= {p.name for p in (tmp_path / "new" / "out").iterdir()}


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--to", "marian", "DIR"], 2, "'marian' is not one of"),
        (["--to", "huggingface", "DIR", "--compute-type", "int8"], 2, "--to huggingface writes float32"),
        (["--to", "ctranslate2", "DIR", "--check", "none.en"], 3, "none.en"),
        (["--to", "ctranslate2", "MODEL/out"], 2, "lies in the model folder"),
        (["--to", "ctranslate2", "MODEL"], 2, "lies in the model folder"),
        (["--to", "ctranslate2", "."], 2, "exists and is no complete ctranslate2 export folder"),
    ],
    ids=lambda value: value[-1] if isinstance(value, list) else "",
)
def test_what_cannot_be_is_refused_in_one_line(
    model_folder: Path, tmp_path: Path, arguments: list[str], code: int, said: str
) -> None:
    places = {"DIR": tmp_path / "out", "MODEL": model_folder, "MODEL/out": model_folder / "out", ".": tmp_path}
    (tmp_path / "something").touch()
    before = sorted(model_folder.iterdir())
    run = export(model_folder, *[places.get(argument, argument) for argument in arguments])
    assert run.returncode == code
    assert said in run.stderr
    assert "Traceback" not in run.stderr
    assert sorted(model_folder.iterdir()) == before
    assert [path.name for path in tmp_path.iterdir()] == ["something"]


def test_a_damaged_model_is_refused_with_the_code_of_models(model_folder: Path, tmp_path: Path) -> None:
    opened = open_model_folder(model_folder)
    (tmp_path / "damaged").mkdir()
    weights = {name: array * float("nan") if "output" in name else array for name, array in opened.weights().items()}
    write_model_folder(
        tmp_path / "damaged", weights=weights, description=opened.description, subwords=subword_files(opened)
    )
    for form in ("ctranslate2", "huggingface"):
        run = export(tmp_path / "damaged", "--to", form, tmp_path / "out")
        assert run.returncode == 4, run.stderr
        assert run.stderr.count("\n") == 1
        assert not (tmp_path / "out").exists()
