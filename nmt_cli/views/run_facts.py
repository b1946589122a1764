"""What is known of a run: its settings, its last checkpoint, its log and metrics, and the data behind it."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open

from nmt_cli.batches.training_data import open_training_data
from nmt_cli.config import Settings
from nmt_cli.corpora.data_folder import MANIFEST, open_data_folder
from nmt_cli.errors import ModelError
from nmt_cli.files import read_json, require_folder
from nmt_cli.model_folder import WEIGHTS, ModelFolder, open_model_folder
from nmt_cli.sealed import is_sealed
from nmt_cli.settings_files import read_toml, validated
from nmt_cli.training.run_folder import STATE, RunFolder

PLAN = re.compile(r" ([\d,]+) pairs \(.*, ([\d,]+) updates an epoch of ([\d,]+) source and ([\d,]+) target tokens")
PRECISION = re.compile(r" parameters, reading .*, precision (\w+), vocabulary ")


@dataclass(frozen=True)
class Plan:
    """What an epoch of the run is made of."""

    pairs: int
    updates: int
    source_tokens: int
    """Of an update, on average."""
    target_tokens: int


@dataclass(frozen=True)
class Average:
    """A model made of checkpoints."""

    model: ModelFolder
    steps: list[int]
    """Of the checkpoints in it, in order; one for a single checkpoint."""
    is_of_run: bool
    """Whether it was trained on the run's data with the run's sizes."""


@dataclass(frozen=True)
class RunFacts:
    """All that a report is made of; what is not there yet is None or empty."""

    path: Path
    settings: Settings
    precision: str | None
    plan: Plan | None
    last: ModelFolder | None
    n_parameters: int | None
    state: Mapping[str, Any] = field(default_factory=dict)
    """Of the last checkpoint that has one: steps, seconds, FLOPs."""
    validation: Mapping[str, Any] = field(default_factory=dict)
    """The last one's figures."""
    average: Average | None = None
    data: Sequence[tuple[str, str, bool]] = ()
    """Name, SHA-256, and whether it is what the run names."""


def facts_of(path: Path, *, model: Path | None = None, data: Sequence[Path] = ()) -> RunFacts:
    """Return what is known of a run.

    Raises:
        ModelError: no run, or a damaged checkpoint.
        DataError: a data folder that is damaged.
    """
    require_folder(path, wanted="a run of nmt train", error=ModelError)
    run = RunFolder(path)
    if not run.config.is_file():
        raise ModelError(f"{path}: no run (config.toml is missing); name a folder that nmt train wrote")
    settings = validated(Settings, read_toml(run.config), where=str(run.config))
    log = run.log.read_text(encoding="utf-8", errors="replace").splitlines() if run.log.is_file() else []
    steps = run.steps() if run.checkpoints.is_dir() else []
    last = open_model_folder(run.checkpoint(steps[-1])) if steps else None
    return RunFacts(
        path=path,
        settings=settings,
        precision=settings.training.precision or last_match(PRECISION, log),
        plan=plan_of_log(log),
        last=last,
        n_parameters=n_parameters(last) if last else None,
        state=last_state(run, steps),
        validation=last_validation(run.metrics),
        average=average_of(model, last) if model else None,
        data=data_of(data, last),
    )


def last_match(pattern: re.Pattern[str], log: Sequence[str]) -> str | None:
    """Return what the pattern's group says in the last line of a log that has it."""
    found = [match for line in log if (match := pattern.search(line))]
    return str(found[-1][1]) if found else None


def plan_of_log(log: Sequence[str]) -> Plan | None:
    """Return the plan that a log tells of last."""
    found = [match for line in log if (match := PLAN.search(line))]
    return Plan(*(int(number.replace(",", "")) for number in found[-1].groups())) if found else None


def n_parameters(model: ModelFolder) -> int:
    """Return the number of weights in a model folder, tied ones once, from the file's header alone.

    Raises:
        ModelError: they are stored in a form that has other numbers beside them, or cannot be read.
    """
    if model.description.stored_as == "int8":
        raise ModelError(f"{model.path}: stored as int8, with scales beside the weights; name one in float32")
    try:
        with safe_open(model.path / WEIGHTS, framework="numpy") as tensors:
            return sum(math.prod(tensors.get_slice(name).get_shape()) for name in tensors.keys())  # noqa: SIM118
    except (SafetensorError, OSError) as error:
        raise ModelError(f"{model.path / WEIGHTS}: cannot be read ({error})") from None


def last_state(run: RunFolder, steps: Sequence[int]) -> Mapping[str, Any]:
    """Return what the newest checkpoint with a training state says of the way there."""
    for step in reversed(steps):
        manifest = run.checkpoint(step) / STATE / "state.json"
        if manifest.is_file():
            values = read_json(manifest, error=ModelError)
            if not is_sealed(manifest, values):
                raise ModelError(f"{manifest}: damaged or edited: its digest is not that of its fields")
            return values
    return {}


def last_validation(metrics: Path) -> Mapping[str, Any]:
    """Return the last validation that the metrics tell of."""
    if not metrics.is_file():
        return {}
    found: dict[str, Any] = {}
    for line in metrics.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            record = json.loads(line)
        except ValueError:
            continue  # a line that a kill cut off
        if isinstance(record, dict) and record.get("kind") == "validation":
            found = record
    return found


def average_of(path: Path, last: ModelFolder | None) -> Average:
    """Return a model with the steps of the checkpoints that it is the mean of."""
    model = open_model_folder(path)
    parents = model.description.provenance.get("parents") or []
    steps = sorted(int(parent["step"]) for parent in parents) or [model.description.step]
    of_run = last is not None and (last.description.model, last.description.provenance.get("data")) == (
        model.description.model,
        model.description.provenance.get("data"),
    )
    return Average(model, steps, of_run)


def data_of(paths: Sequence[Path], last: ModelFolder | None) -> list[tuple[str, str, bool]]:
    """Return the digests of data folders, down to the files that they were made of; all siblings are checked."""
    if not paths:
        return []
    pieces = open_training_data(paths)
    named = None if last is None else last.description.provenance.get("data")
    found = [("pieces trained on", pieces.digest, named in {None, pieces.digest})]
    for folder in pieces.folders:
        above = folder.path.parent
        if not (above / MANIFEST).is_file():
            continue
        digest = open_data_folder(above).digest
        found.append((f"{above.name}/", digest, digest == folder.manifest.get("data_digest")))
        sources: Any = read_json(above / MANIFEST)["sources"]
        found += [(f"{above.name} from {source['name']}", str(source["sha256"]), True) for source in sources]
    return found
