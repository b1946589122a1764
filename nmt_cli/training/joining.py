"""How ranks come together, whoever started them: on the lead's terms, at a store."""

from __future__ import annotations

import contextlib
import datetime as dt
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
from torch.distributed import PrefixStore, Store  # type: ignore[attr-defined]

from nmt_cli.config import Settings
from nmt_cli.errors import MachineError
from nmt_cli.training.ranks import LostRankError, Ranks, join, leave
from nmt_cli.training.roll_call import SECONDS_TO_MEET, RollCall

TERMS = "terms"


@dataclass(frozen=True)
class Terms:
    """What the lead has the others train, and on what."""

    settings: Settings
    """In full, as resolved by the lead."""
    digest: str
    """Of the data."""
    data: tuple[Path, ...] = ()
    """Where the data lies on the lead's machine."""

    @property
    def timeout(self) -> dt.timedelta:
        """The longest that a rank may keep the others waiting."""
        return dt.timedelta(minutes=self.settings.machine.rank_timeout_minutes)


@contextlib.contextmanager
def leading(store: Store, roll: RollCall, ranks: Ranks, terms: Terms) -> Iterator[None]:
    """Bring all ranks together for the block, in which this one is the lead.

    Raises:
        MachineError: a rank was lost, named with what is known of it.
    """
    try:
        said = {"settings": terms.settings.model_dump(mode="json"), "digest": terms.digest, "device": ranks.device.type}
        _prefixed(store).set(TERMS, json.dumps(said))
        with together(store, roll, ranks, timeout=terms.timeout):
            yield
    except LostRankError as error:
        raise MachineError(roll.name_the_lost(str(error))) from error
    except BaseException as error:
        roll.leave_word(error)  # or the others would say that the lead is lost
        raise


@contextlib.contextmanager
def together(store: Store, roll: RollCall, ranks: Ranks, *, timeout: dt.timedelta) -> Iterator[None]:
    """Meet the other ranks, and be one of them for the block.

    Raises:
        LostRankError: one of them is gone.
    """
    roll.timeout = timeout.total_seconds()
    roll.meet()
    with roll.attended():  # to the end: to leave a group with a lost rank in it may hang
        try:
            join(store, ranks, timeout=timeout)
            yield
        finally:
            leave()


def terms_of_lead(store: Store) -> tuple[Terms, torch.device]:
    """Wait for the lead's terms; return them, and the kind of device to work on.

    Raises:
        LostRankError: there is no lead.
    """
    try:
        notes = _prefixed(store)
        notes.wait([TERMS], dt.timedelta(seconds=SECONDS_TO_MEET))
        said = json.loads(notes.get(TERMS))
    except RuntimeError as error:
        raise LostRankError("the lead does not say what to do") from error
    return Terms(Settings.model_validate_json(json.dumps(said["settings"])), said["digest"]), torch.device(
        said["device"]
    )


def _prefixed(store: Store) -> PrefixStore:
    return PrefixStore("joining", store)
