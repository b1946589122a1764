"""What a rank notes for the others and for its own watch, while it waits and when it ends."""

from __future__ import annotations

import contextlib
import datetime as dt
import os
import socket
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch.distributed import HashStore, PrefixStore  # type: ignore[attr-defined]

from nmt_cli.batches.plan import Cursor
from nmt_cli.errors import DivergedError
from nmt_cli.training import joining, roll_call
from nmt_cli.training.joining import Terms, leading, together
from nmt_cli.training.loop import read_updates
from nmt_cli.training.memory import MicroBatchLimit
from nmt_cli.training.ranks import LostRankError, Ranks, join
from nmt_cli.training.roll_call import RollCall
from nmt_cli.training.state import Progress
from nmt_cli.training.update import UpdateLoss, UpdateResult


def test_who_does_not_come_is_waited_for_as_long_as_the_message_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(roll_call, "SECONDS_TO_MEET", 1.0)
    with pytest.raises(LostRankError, match=r"^not all came within 1 s$"):
        RollCall(HashStore(), Ranks(0, 2)).meet()


def test_a_rank_that_does_not_come_is_waited_for_no_longer_than_ranks_may_wait_and_only_it_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(roll_call, "SECONDS_TO_START", 0.5)
    store = HashStore()
    roll = RollCall(store, Ranks(0, 3), processes={1: 4711, 2: 4712})
    roll.timeout = 1.0
    PrefixStore("roll-call", store).set("here/2", f"{socket.gethostname()} 4712")  # it came, and waits
    with pytest.raises(LostRankError, match=r"^not all came within 1 s$") as caught:
        roll.meet()
    assert roll.name_the_lost(str(caught.value)) == (
        "rank 1 (process 4711) was lost before its first update: did not come to where the ranks meet "
        "(not all came within 1 s); the same command goes on from the last checkpoint"
    )


def test_a_rank_is_watched_until_it_has_left(monkeypatch: pytest.MonkeyPatch) -> None:
    happened: list[str] = []

    class Watched(RollCall):
        def meet(self) -> None:
            """Be alone."""

        @contextlib.contextmanager
        def attended(self) -> Iterator[None]:
            happened.append("watched")
            try:
                yield
            finally:
                happened.append("no longer watched")

    monkeypatch.setattr(joining, "join", lambda *_, **__: happened.append("joined"))
    monkeypatch.setattr(joining, "leave", lambda: happened.append("left"))
    ranks, store = Ranks(0, 2), HashStore()
    with (
        pytest.raises(LostRankError),
        together(store, Watched(store, ranks), ranks, timeout=dt.timedelta(seconds=9)),
    ):
        raise LostRankError("gone")
    assert happened == ["watched", "joined", "left", "no longer watched"]


def test_a_lead_with_an_error_of_its_own_is_not_taken_for_lost(toy: Any, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: ANN401
    monkeypatch.setattr(roll_call, "SECONDS_TO_ANSWER", 0.1)
    monkeypatch.setattr(joining, "together", lambda *_, **__: contextlib.nullcontext())
    store, terms = HashStore(), Terms(toy.settings(), "digest")
    other, lead = RollCall(store, Ranks(1, 2)), Ranks(0, 2)
    assert not other.lead_lives()
    with pytest.raises(DivergedError, match=r"^no use$"), leading(store, RollCall(store, lead), lead, terms):
        raise DivergedError("no use")
    assert other.lead_lives()


def test_a_lead_that_reads_what_gpus_made_of_updates_is_known_to_wait() -> None:
    """If a rank is lost meanwhile, what the others sum never comes; see `roll_call`."""
    ranks, seen = Ranks(0, 2), list[bool]()

    def result() -> UpdateResult:
        seen.append(ranks.standing.waits)
        return UpdateResult(UpdateLoss(1.0, 1.0, 2, 2, 4), 1e-3, gradient_norm=1.0, finite=True)

    taken: Any = SimpleNamespace(result=result, update=SimpleNamespace(cursor=Cursor(1, 0, 1), drawn=[0]))
    reporter: Any = SimpleNamespace(lap=lambda: 0.0, updated=lambda *_: seen.append(ranks.standing.waits))
    nowhere: Any = None
    progress = read_updates([taken], Progress(), run=nowhere, reporter=reporter, ranks=ranks, limit=MicroBatchLimit())
    assert progress.step == 1
    assert seen == [True, False]


def test_a_rank_whose_wait_ended_by_an_error_still_counts_as_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    def connection_closed(_values: torch.Tensor) -> None:
        raise RuntimeError("[pair.cc:1] Connection closed by peer. Hint")

    monkeypatch.setattr(torch.distributed, "all_reduce", connection_closed)
    ranks = Ranks(0, 2)
    with pytest.raises(LostRankError, match=r"^Connection closed by peer$"):
        ranks.sum_(torch.zeros(1))
    assert ranks.standing.waits


@pytest.mark.parametrize(("device", "given", "found"), [("cuda", None, "0"), ("cuda", "3", "3"), ("cpu", None, None)])
def test_on_gpus_the_roll_call_alone_ends_a_process_that_waits_in_vain_unless_its_user_knows_better(
    monkeypatch: pytest.MonkeyPatch, device: str, given: str | None, found: str | None
) -> None:
    name, seen = "TORCH_NCCL_ASYNC_ERROR_HANDLING", list[str | None]()
    monkeypatch.setenv(name, given or "")  # so that it is put back
    if given is None:
        monkeypatch.delenv(name)
    monkeypatch.setattr(torch.distributed, "init_process_group", lambda *_, **__: seen.append(os.environ.get(name)))
    join(HashStore(), Ranks(0, 2, device=torch.device(device)), timeout=dt.timedelta(seconds=9))
    assert seen == [found]
