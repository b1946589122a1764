"""Weights in fewer bits: what is read is what was written, up to half a step, and what is damaged is refused."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import ctranslate2
import numpy as np
import pytest
from ctranslate2.specs import model_spec

from nmt_cli.errors import ModelError
from nmt_cli.files import new_directory, sha256_of_file
from nmt_cli.model_folder import (
    KIND,
    MANIFEST,
    open_model_folder,
    read_tensors,
    subword_files,
    write_model_folder,
    write_tensors,
)
from nmt_cli.sealed import write_sealed
from nmt_cli.weight_storage import SCALE, dequantised, quantised, restored, stored

WEIGHTS = "weights.safetensors"


def random_matrix(rows: int, columns: int, *, seed: int) -> np.ndarray:
    """Rows of very different size, among them one of zeros."""
    generator = np.random.default_rng(seed)
    sizes = 10.0 ** generator.uniform(-6, 4, size=(rows, 1))
    sizes[rows // 2] = 0
    return (generator.normal(size=(rows, columns)) * sizes).astype(np.float32)


def stored_copy(folder: Path, out: Path, form: str) -> Path:
    """Write a model anew in another form."""
    model = open_model_folder(folder)
    description = model.description.model_copy(update={"stored_as": form})
    with new_directory(out, manifest=MANIFEST, kind=KIND) as scratch:
        write_model_folder(scratch, weights=model.weights(), description=description, subwords=subword_files(model))
    return out


def test_each_number_comes_back_within_half_a_step_of_its_row() -> None:
    matrix = random_matrix(40, 33, seed=1)
    numbers, scale = quantised(matrix)
    step = np.abs(matrix).max(axis=1, keepdims=True) / 127
    assert numbers.dtype == np.int8
    assert (np.abs(dequantised(numbers, scale) - matrix) <= step * (0.5 + 1e-4)).all()
    assert np.array_equal(quantised(-matrix)[0], -numbers)


def test_rows_worked_by_hand() -> None:
    numbers, scale = quantised(np.array([[1.0, -2.0, 0.5], [0, 0, 0], [-254.0, 3.0, 1.0]], dtype=np.float32))
    assert numbers.tolist() == [[64, -127, 32], [0, 0, 0], [-127, 2, 0]]  # halves go to the even number
    assert scale.tolist() == [63.5, 1.0, 0.5]


def test_a_row_too_small_for_its_scale_to_be_a_number_is_kept_all_the_same() -> None:
    numbers, scale = quantised(np.array([[1e-38, 0.0], [-1e-42, 0.0]], dtype=np.float32))
    assert np.isfinite(scale).all()
    assert np.isfinite(dequantised(numbers, scale)).all()


def test_ctranslate2_keeps_the_same_numbers_of_a_matrix_and_of_what_was_restored_from_it() -> None:
    matrix = random_matrix(30, 17, seed=2)
    numbers, scale = quantised(matrix)
    for given in (matrix, dequantised(numbers, scale)):
        spec = ctranslate2.specs.common_spec.LinearSpec()
        spec.weight = given.copy()
        spec.bias = model_spec.OPTIONAL
        spec.validate()
        spec.optimize("int8")
        assert np.array_equal(spec.weight.numpy(), numbers)
        np.testing.assert_allclose(spec.weight_scale.numpy(), scale, rtol=1e-6)


@pytest.mark.parametrize("form", ["float16", "int8"])
def test_what_is_no_matrix_keeps_its_shape_and_its_name(form: str) -> None:
    weights = {"norm.weight": np.array([1.0, 0.1], dtype=np.float32), "a.scale": np.float32([3.0]), "w": np.eye(3)}
    found = restored(stored(weights, form), form, where="here")
    assert found.keys() == weights.keys()
    for name, array in weights.items():
        assert found[name].dtype == np.float32
        np.testing.assert_allclose(found[name], array, atol=1e-4)


def test_an_int8_model_takes_a_byte_a_weight_and_loads_into_torch(model_folder: Path, tmp_path: Path) -> None:
    from nmt_cli.model.load import load_transformer

    small = stored_copy(model_folder, tmp_path / "int8", "int8")
    model = open_model_folder(small)
    original = open_model_folder(model_folder).weights()
    matrices = {name: array for name, array in original.items() if array.ndim == 2}
    n_rows = sum(len(array) for array in matrices.values())
    n_other = sum(array.size for name, array in original.items() if name not in matrices)
    header = int.from_bytes((small / WEIGHTS).read_bytes()[:8], "little")
    n_bytes = sum(array.size for array in matrices.values()) + 4 * (n_rows + n_other)
    assert (small / WEIGHTS).stat().st_size == 8 + header + n_bytes
    for name, parameter in load_transformer(model).named_parameters():
        found, exact = parameter.detach().numpy(), original[name]
        step = np.abs(exact).max(axis=-1, keepdims=True) / 127 if name in matrices else 0.0
        assert (np.abs(found - exact) <= 0.5001 * step).all(), name


def test_half_precision_takes_two_bytes_a_weight(model_folder: Path, tmp_path: Path) -> None:
    half = stored_copy(model_folder, tmp_path / "half", "float16")
    for name, array in open_model_folder(half).stored_weights().items():
        assert array.dtype == np.float16, name
    for name, array in open_model_folder(half).weights().items():
        np.testing.assert_allclose(array, open_model_folder(model_folder).weights()[name], rtol=1e-3, atol=1e-6)


def test_a_model_written_before_there_were_forms_still_loads(model_folder: Path, tmp_path: Path) -> None:
    old = tmp_path / "old"
    shutil.copytree(model_folder, old)
    values = json.loads((old / MANIFEST).read_bytes())
    del values["stored_as"], values["digest"]
    write_sealed(old / MANIFEST, values)
    weights = open_model_folder(old).weights()
    assert all(np.array_equal(array, weights[name]) for name, array in read_tensors(model_folder / WEIGHTS).items())


def damage(folder: Path, change: dict[str, np.ndarray | None]) -> str:
    """Exchange tensors of a model, digests included, and return how it is refused."""
    tensors = read_tensors(folder / WEIGHTS) | change
    write_tensors(folder / WEIGHTS, {name: array for name, array in tensors.items() if array is not None})
    values = json.loads((folder / MANIFEST).read_bytes())
    del values["digest"]
    values["files"][WEIGHTS] = sha256_of_file(folder / WEIGHTS)
    write_sealed(folder / MANIFEST, values)
    with pytest.raises(ModelError) as caught:
        open_model_folder(folder).weights()
    assert str(folder / WEIGHTS) in str(caught.value)
    return str(caught.value)


def test_a_scale_that_cannot_be_is_refused_by_name(model_folder: Path, tmp_path: Path) -> None:
    name = "source_embedding.weight"
    matrix = open_model_folder(model_folder).weights()[name]
    good = quantised(matrix)[1]
    for i, (scale, said) in enumerate(
        [
            (None, f"{name}{SCALE} is missing"),
            (good * 0, "no positive number"),
            (good * np.float32(np.nan), "no positive number"),
            (-good, "no positive number"),
            (good.astype(np.float64), "no positive number"),
            (good[1:], f"{name} is {list(matrix.shape)}, but its scale [{len(good) - 1}]"),
        ]
    ):
        folder = stored_copy(model_folder, tmp_path / str(i), "int8")
        assert said in damage(folder, {name + SCALE: scale})
    folder = stored_copy(model_folder, tmp_path / "float", "int8")
    assert f"{name} has a scale but is float32" in damage(folder, {name: matrix})


def test_a_flipped_bit_of_a_scale_is_found_by_the_digest(model_folder: Path, tmp_path: Path) -> None:
    folder = stored_copy(model_folder, tmp_path / "int8", "int8")
    data = bytearray((folder / WEIGHTS).read_bytes())
    header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    data[8 + int.from_bytes(data[:8], "little") + header[f"source_embedding.weight{SCALE}"]["data_offsets"][0]] ^= 1
    (folder / WEIGHTS).write_bytes(data)
    with pytest.raises(ModelError, match="damaged or edited"):
        open_model_folder(folder)
