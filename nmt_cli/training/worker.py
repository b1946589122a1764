"""A rank that is not the lead: it shares the work of each update and nothing else."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

import torch
from torch.distributed import FileStore, Store  # type: ignore[attr-defined]

from nmt_cli.batches.corpus import the_only_corpus
from nmt_cli.batches.training_data import TrainingData, open_training_data
from nmt_cli.config import Settings
from nmt_cli.errors import DataError, NmtError
from nmt_cli.training.compiling import compile_layers
from nmt_cli.training.devices import own_gpu
from nmt_cli.training.gradient import Gradient
from nmt_cli.training.joining import terms_of_lead, together
from nmt_cli.training.loop import planned_updates, validation_is_due
from nmt_cli.training.memory import keep_few_primitives, keep_freed_memory
from nmt_cli.training.place import STOP_SIGNALS, Place
from nmt_cli.training.ranks import LostRankError, Ranks
from nmt_cli.training.roll_call import RollCall
from nmt_cli.training.state import Progress
from nmt_cli.training.torchrun import ranks_at, store_of_job
from nmt_cli.training.trained import Trained, share_state
from nmt_cli.training.update import ready_updates, take_update
from nmt_cli.training.validation import Validator

SET_PARENT_DEATH_SIGNAL = 1


def main() -> None:
    """Work as the rank that the arguments name, which `launch` started; what goes wrong is left in its log."""
    rank, world_size, parent, store, *data = sys.argv[1:]
    die_with(int(parent))
    place = Place(int(rank), int(world_size), local_rank=int(rank), local_world_size=int(world_size))
    try:
        work(
            place,
            FileStore(store, place.world_size),
            lambda: open_training_data([Path(path) for path in data], verify=False),
        )
    except NmtError as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(error.exit_code)


def follow_job(place: Place, data: Sequence[Path] | None) -> NoReturn:
    """Work as a rank that torchrun started; the lead says what there is to say.

    Until all have met, SIGTERM is to end this process; then it is the lead's to decide.
    """
    if "TORCHELASTIC_RUN_ID" in os.environ:
        die_with(os.getppid())
    try:
        work(place, store_of_job(place), lambda: open_training_data(data or the_only_corpus(Path("data"))))
    except NmtError as error:
        sys.exit(error.exit_code)
    sys.exit(0)


def die_with(parent: int) -> None:
    """Have this process killed when its parent ends, however it ends (Linux)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() != parent:
        sys.exit(1)


def work(place: Place, store: Store, open_data: Callable[[], TrainingData]) -> None:
    """Meet the lead, learn its terms, and share its updates until it says stop.

    Raises:
        NmtError: what ends this rank, after word of it was left for the lead.
    """
    torch.set_num_threads(1)
    keep_few_primitives()
    keep_freed_memory()
    ranks = ranks_at(place, torch.device("cpu"))
    roll = RollCall(store, ranks)
    try:
        terms, device = terms_of_lead(store)
        if device.type == "cuda":
            device = own_gpu(place.local_rank)
            ranks = ranks_at(place, device)
            roll = RollCall(store, ranks)
        trained = untrained(open_data(), terms.settings, digest=terms.digest, device=device)
        with together(store, roll, ranks, timeout=terms.timeout):
            for number in STOP_SIGNALS:
                signal.signal(number, signal.SIG_IGN)
            follow(trained, ranks)
    except BaseException as error:
        roll.leave_word(error)
        if isinstance(error, LostRankError) and place.rank == 1 and not roll.lead_lives():
            sys.stderr.write(f"nmt: rank 0, the lead, was lost {ranks.standing}: no sign of life ({error})\n")
        raise


def untrained(pieces: TrainingData, settings: Settings, *, digest: str, device: torch.device) -> Trained:
    """Return a model and optimizer to be filled from the lead.

    Raises:
        DataError: the data here is not the lead's.
    """
    if pieces.digest != digest:
        raise DataError(f"{pieces.name} is {pieces.digest[:12]}…, but the lead's data {digest[:12]}…; copy it")
    trained = Trained.new(pieces, settings, device=device)
    if settings.machine.compile:
        compile_layers(trained.model, lambda _: None)  # the lead warns
    return trained


def follow(trained: Trained, ranks: Ranks) -> None:
    """Share updates and validations with the lead, from where it stands until it says stop."""
    progress, limit = share_state(trained, Progress(), ranks)
    gradient = Gradient(trained.model)
    validation = trained.pieces.validation
    validator = Validator(validation, trained.settings) if validation else None
    trained.model.train()
    planned = planned_updates(trained.corpus, trained.settings.training, progress.cursor)
    for update in ready_updates(trained, planned, ranks=ranks, limit=limit):
        if not ranks.lead_says(0):
            return
        take_update(trained, gradient, update, ranks=ranks, limit=limit)
        if validator is not None and validation_is_due(update.step, trained.settings.training):
            with trained.shown():
                validator.take_part(trained.model, ranks)


if __name__ == "__main__":
    main()
