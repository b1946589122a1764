"""A sealed manifest notices every byte that differs."""

from __future__ import annotations

from pathlib import Path

from nmt_cli.errors import DataError
from nmt_cli.files import read_json
from nmt_cli.sealed import is_sealed, write_sealed

VALUES = {"name": "größer", "loss": 2.1234567890123457, "seconds": 54.12345678901234, "steps": [1, 20], "none": None}


def is_good(path: Path) -> bool:
    try:
        return is_sealed(path, read_json(path))
    except DataError:
        return False


def test_what_was_written_is_sealed(tmp_path: Path) -> None:
    write_sealed(tmp_path / "m.json", VALUES)
    assert is_good(tmp_path / "m.json")


def test_every_flipped_bit_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    write_sealed(path, VALUES)
    content = path.read_bytes()
    missed = []
    for place in range(len(content)):
        for bit in range(8):
            changed = bytearray(content)
            changed[place] ^= 1 << bit
            path.write_bytes(changed)
            if is_good(path):
                missed.append((place, bit))
    assert missed == []


def test_another_spelling_of_the_same_number_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    write_sealed(path, VALUES)
    path.write_bytes(path.read_bytes().replace(b"2.1234567890123457", b"2.1234567890123456"))
    assert read_json(path)["loss"] == VALUES["loss"]
    assert not is_good(path)
