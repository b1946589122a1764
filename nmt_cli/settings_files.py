"""Settings from presets, TOML files and `--set`, in that order of precedence, and back to TOML."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from nmt_cli.config import Section, Settings
from nmt_cli.errors import UsageError
from nmt_cli.files import atomic_file

AnySection = TypeVar("AnySection", bound=Section)


def preset_names() -> list[str]:
    """Return the names of the presets in the package."""
    folder = resources.files("nmt_cli") / "presets"
    return sorted(entry.name.removesuffix(".toml") for entry in folder.iterdir() if entry.name.endswith(".toml"))


def resolve(
    *,
    preset: str | None,
    config: Path | None,
    assignments: Sequence[str] = (),
    of_model: Mapping[str, object] | None = None,
) -> Settings:
    """Merge preset < sections of a model < file < assignments ("training.max_steps=200") into settings.

    Raises:
        UsageError: an unknown preset, file, section or field, or a value out of range; all at once.
    """
    values: dict[str, object] = {}
    named = []
    if preset is not None:
        values = merge(values, _read_preset(preset))
        named.append(f"preset {preset}")
    values = merge(values, of_model or {})
    if config is not None:
        values = merge(values, read_toml(config))
        named.append(str(config))
    for assignment in assignments:
        values = merge(values, parse_assignment(assignment))
    if assignments:
        named.append("--set")
    return validated(Settings, values, where=" + ".join(named) or "settings")


def _read_preset(name: str) -> dict[str, object]:
    names = preset_names()
    if name not in names:
        raise UsageError(f"preset {name!r} is unknown{suggestion(name, names)}; there are: {', '.join(names)}")
    text = (resources.files("nmt_cli") / "presets" / f"{name}.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def read_toml(path: Path) -> dict[str, object]:
    """Return the tables of a TOML file.

    Raises:
        UsageError: missing, unreadable, or no TOML (with line and column).
    """
    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror})") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"{path}: not valid TOML ({error})") from None


def parse_assignment(assignment: str) -> dict[str, object]:
    """Turn "section.field=value" into nested tables; a value that is no TOML is taken as text.

    Raises:
        UsageError: no "=" or no section.
    """
    name, equals, text = assignment.partition("=")
    section, dot, field = name.strip().partition(".")
    if not equals or not dot or not field:
        raise UsageError(f"--set {assignment!r}: write section.field=value, as in training.max_steps=200")
    try:
        tables = tomllib.loads(f"value = {text.strip()}")
    except (tomllib.TOMLDecodeError, RecursionError):
        tables = {}
    # More than one name means that the text went on on a line of its own.
    return {section: {field: tables["value"] if len(tables) == 1 else text.strip()}}


def merge(lower: Mapping[str, object], upper: Mapping[str, object]) -> dict[str, object]:
    """Return `lower` with every value of `upper` put over it, table by table."""
    merged = dict(lower)
    for name, value in upper.items():
        below = merged.get(name)
        merged[name] = merge(below, value) if isinstance(below, Mapping) and isinstance(value, Mapping) else value
    return merged


def validated(section: type[AnySection], values: Mapping[str, object], *, where: str) -> AnySection:
    """Return the settings made of the values.

    Raises:
        UsageError: one line that names every problem.
    """
    try:
        return section.model_validate(values)
    except ValidationError as error:
        problems = [_explain(section, problem) for problem in error.errors()]
        raise UsageError(f"{where}: " + "; ".join(problems)) from None


def _explain(section: type[BaseModel], problem: ErrorDetails) -> str:
    location, message = problem["loc"], problem["msg"]
    name = ".".join(str(part) for part in location)
    match problem["type"]:
        case "extra_forbidden":
            return f"unknown field {name!r}{suggestion(str(location[-1]), _fields_at(section, location[:-1]))}"
        case "missing":
            return f"{name!r} is not given" + _remedy(location)
        case "value_error":
            text = message.removeprefix("Value error, ")
            return f"{name}: {text}" if name else text
        case _:
            return f"{name} {message.removeprefix('Input ')}, but is {problem['input']!r}"


def _remedy(location: tuple[int | str, ...]) -> str:
    if len(location) == 1:
        return "; name a --preset or set it"
    if location[-1] in {"d_k", "d_v"}:
        return " and d_model is no multiple of n_heads"
    return ""


def _fields_at(section: type[BaseModel], location: tuple[int | str, ...]) -> list[str]:
    for part in location:
        annotation = section.model_fields[str(part)].annotation
        if not (isinstance(annotation, type) and issubclass(annotation, BaseModel)):
            return []
        section = annotation
    return list(section.model_fields)


def suggestion(name: str, known: Sequence[str]) -> str:
    """Return ", did you mean 'x'?" for the nearest known name, or nothing."""
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    return f", did you mean {near[0]!r}?" if near else ""


def write_toml(path: Path, settings: Settings) -> None:
    """Write settings so that `--config` reads the same ones back; unset fields are left out."""
    import tomli_w

    with atomic_file(path) as stream:
        stream.write(tomli_w.dumps(settings.model_dump(exclude_none=True)).encode("utf-8"))


def changes_not_allowed(old: Settings, new: Settings) -> list[str]:
    """Return "section.field was X, now Y" for each difference that a continued run may not have."""
    found = []
    for name, field in Settings.model_fields.items():
        section = field.annotation
        if not (isinstance(section, type) and issubclass(section, Section)):
            continue
        before, after = getattr(old, name), getattr(new, name)
        for key, part in section.model_fields.items():
            extra = part.json_schema_extra
            may_change = isinstance(extra, dict) and extra.get("on_resume") == "may change"
            if not may_change and getattr(before, key) != getattr(after, key):
                found.append(f"{name}.{key} was {getattr(before, key)!r}, now {getattr(after, key)!r}")
    return found


def section_from(
    section: type[AnySection], name: str, values: Mapping[str, object], assignments: Sequence[str]
) -> AnySection:
    """Return one section made of values and of assignments ("name.field=value") over them.

    Raises:
        UsageError: another section named, an unknown field, or a value out of range.
    """
    merged: dict[str, object] = {name: dict(values)}
    for assignment in assignments:
        merged = merge(merged, parse_assignment(assignment))
    if others := sorted(merged.keys() - {name}):
        raise UsageError(f"--set: section {others[0]!r} is unknown here; this command has {name!r}")
    fields = merged[name]
    return validated(section, fields if isinstance(fields, Mapping) else {}, where="settings")
