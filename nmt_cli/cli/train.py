"""`nmt train`: an encoded corpus and settings in, a run out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer


def train(
    data: Annotated[
        list[Path] | None,
        typer.Argument(
            help="A folder encoded by `nmt bpe`, or several with the same subwords. Default: the only one under data/."
        ),
    ] = None,
    preset: Annotated[str | None, typer.Option(help="Settings in the package: tiny, small, base, big …")] = None,
    config: Annotated[Path | None, typer.Option(help="TOML file of settings, over those of the preset.")] = None,
    assignments: Annotated[
        list[str] | None, typer.Option("--set", help="section.field=value, over the file; may be given often.")
    ] = None,
    max_steps: Annotated[
        int | None, typer.Option(help="Updates in all. Default: training.max_steps of the settings.")
    ] = None,
    weights: Annotated[
        str | None,
        typer.Option(
            help="Pairs of each DATA in proportion, as in 3,1: an epoch has those of the corpus repeated least once. "
            "Default: every pair once."
        ),
    ] = None,
    fine_tune: Annotated[
        Path | None,
        typer.Option(
            help="Model folder whose weights and sizes a new run begins with. The preset is then fine-tune by default."
        ),
    ] = None,
    run: Annotated[Path | None, typer.Option(help="Folder of the run. Default: runs/CORPUS-PRESET.")] = None,
    ranks: Annotated[
        int | None, typer.Option(help="Processes that share each update. Default: one a core on a CPU.")
    ] = None,
    gpus: Annotated[
        int | None, typer.Option(help="GPUs of this machine, a process each. Default: one where there is one.")
    ] = None,
    device: Annotated[str | None, typer.Option(help="auto, cpu or cuda. Default: machine.device, auto.")] = None,
    tensorboard: Annotated[
        bool, typer.Option("--tensorboard", help="Curves for TensorBoard too, in the run's tensorboard/.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Nothing on stderr; log.txt has it all.")] = False,
) -> None:
    """Train a Transformer; the same command again goes on where it stopped."""
    from nmt_cli.batches.corpus import the_only_corpus
    from nmt_cli.files import real_path
    from nmt_cli.settings_files import resolve
    from nmt_cli.training.place import end_in_silence_when_stopped, place_in_job

    place = place_in_job()
    if place is not None and place.rank:
        end_in_silence_when_stopped()  # before torch is imported, which takes its time
        from nmt_cli.training.worker import follow_job

        follow_job(place, data)
    chosen = list(assignments or [])
    if max_steps is not None:
        chosen.append(f"training.max_steps={max_steps}")
    chosen += given_gpus(gpus, ranks=ranks, device=device, torchrun=place is not None)
    if device is not None:
        chosen.append(f"machine.device={device}")
    if ranks is not None:
        chosen.append(f"machine.ranks={ranks}")
    if tensorboard:
        chosen.append("machine.tensorboard=true")
    if weights is not None:
        chosen.append(f"training.corpus_weights={as_numbers(weights)}")
    if fine_tune is not None:
        chosen.append(f"training.fine_tune={as_toml(fine_tune)}")
        preset = "fine-tune" if preset is None and config is None else preset
    data = data or [the_only_corpus(Path("data"))]
    places = [real_path(path) for path in data]
    name = "+".join(place.parent.name if place.name == "pieces" else place.name for place in places)
    run = run or Path("runs") / f"{name}-{preset or (config.stem if config else 'run')}"
    of_model = None if fine_tune is None else sections_of_model(fine_tune, run)
    settings = resolve(preset=preset, config=config, assignments=chosen, of_model=of_model)

    from nmt_cli.training.start import run_training

    run_training(data, run, settings, quiet=quiet, place=place)


def given_gpus(gpus: int | None, *, ranks: int | None, device: str | None, torchrun: bool) -> list[str]:
    """Return the settings that --gpus stands for.

    Raises:
        UsageError: another option, or torchrun, says otherwise.
    """
    from nmt_cli.errors import UsageError

    for option, number in (("--gpus", gpus), ("--ranks", ranks)):
        if torchrun and number is not None:
            raise UsageError(f"{option} {number}: torchrun says how many processes there are; leave {option} out")
    if gpus is None:
        return []
    if ranks is not None or device not in {None, "cuda"}:
        other = f"--ranks {ranks}" if ranks is not None else f"--device {device}"
        raise UsageError(f"--gpus {gpus} and {other} contradict each other; a GPU has one process: give one of them")
    return ["machine.device=cuda", f"machine.ranks={gpus}"]


def sections_of_model(path: Path, run: Path) -> dict[str, object]:
    """Return the settings of sizes and of the search that a model folder carries.

    A run that began with it goes on without it.

    Raises:
        ModelError: it is none, or damaged.
    """
    from nmt_cli.model_folder import open_model_folder
    from nmt_cli.settings_files import resolve

    if not path.exists() and (run / "config.toml").is_file():
        began = resolve(preset=None, config=run / "config.toml")
        if began.training.fine_tune == str(path):
            return {"model": began.model.model_dump(), "search": began.search.model_dump()}
    description = open_model_folder(path).description
    return {"model": description.model.model_dump(), "search": description.search.model_dump()}


def as_toml(path: Path) -> str:
    """Return a path as a value of TOML, which has other escapes than JSON beyond the first plane of Unicode.

    Raises:
        UsageError: its name is not UTF-8, which no TOML file can hold.
    """
    from nmt_cli.errors import UsageError

    if any("\ud800" <= character <= "\udfff" for character in str(path)):
        raise UsageError(f"--fine-tune {str(path)!r}: the name is not UTF-8, as settings must be; rename the folder")
    return json.dumps(str(path), ensure_ascii=False).replace("\x7f", "\\u007f")


def as_numbers(text: str) -> list[float]:
    """Return the numbers of a list such as 3,1.

    Raises:
        UsageError: it is another thing.
    """
    from nmt_cli.errors import UsageError

    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise UsageError(f"--weights {text!r}: give a positive number a corpus, as in 3,1") from None
