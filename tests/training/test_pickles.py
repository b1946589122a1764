"""A pickle in place of any part of a checkpoint is refused and never run (report 15)."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from nmt_cli.files import sha256_of_file, sha256_of_json, write_json

PROGRAM = Path(sys.executable).parent / "nmt"


@dataclass(frozen=True)
class Trap:
    """An object whose unpickling makes a folder."""

    marker: Path

    def __reduce__(self) -> Any:  # noqa: ANN401, D105
        return os.mkdir, (str(self.marker),)


def plant(path: Path, marker: Path) -> None:
    """Put a trap in place of a file, with digests that vouch for it."""
    path.write_bytes(pickle.dumps(Trap(marker)))
    manifest = path.parent / ("state.json" if path.parent.name == "training" else "model.json")
    if path != manifest:
        values = json.loads(manifest.read_bytes())
        del values["digest"]
        values["files"][path.name] = sha256_of_file(path)
        write_json(manifest, values | {"digest": sha256_of_json(values)})


NAMES = ["weights.safetensors", "subwords.model", "model.json", "training/optimizer.safetensors", "training/state.json"]


def test_the_trap_works(tmp_path: Path) -> None:
    pickle.loads(pickle.dumps(Trap(tmp_path / "marker")))
    assert (tmp_path / "marker").exists()


@pytest.mark.parametrize("name", NAMES)
def test_train_refuses_a_pickle_and_uses_the_checkpoint_before(
    toy: Any,  # noqa: ANN401
    tmp_path: Path,
    whole_run: Path,
    name: str,
) -> None:
    run = tmp_path / "run"
    shutil.copytree(whole_run, run, symlinks=True)
    plant(run / "checkpoints" / "step-00000024" / name, tmp_path / "marker")
    toy.train(run)
    assert not (tmp_path / "marker").exists()
    if name != "subwords.model":  # training has its own copy, beside the data
        assert any("cannot continue from step 24: " in line for line in toy.log(run))
        assert (run / "last" / "weights.safetensors").read_bytes() == (
            whole_run / "last" / "weights.safetensors"
        ).read_bytes()


@pytest.mark.parametrize("command", ["average", "translate", "bpe"])
def test_other_commands_refuse_a_pickle_in_one_line(
    toy: Any,  # noqa: ANN401
    tmp_path: Path,
    whole_run: Path,
    command: str,
) -> None:
    shutil.copytree(whole_run / "last", tmp_path / "model")
    name = "subwords.model" if command == "bpe" else "weights.safetensors"
    plant(tmp_path / "model" / name, tmp_path / "marker")
    arguments: dict[str, list[str | Path]] = {
        "average": [tmp_path / "model", whole_run / "last", "--out", "mean"],
        "translate": ["--model", tmp_path / "model"],
        "bpe": [toy.corpus, "--model", tmp_path / "model", "--out", "pieces"],
    }
    done = subprocess.run(
        [PROGRAM, command, *arguments[command]],
        cwd=tmp_path,
        input="ba do\n",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 4
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert name in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model"]
