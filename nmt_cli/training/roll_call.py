"""How ranks notice that one of them is lost, and name it: notes at the store where they met.

here/R      rank R is there: its machine and process
raised/R    rank R ends with an error, and which
fault       somebody noticed that a rank is lost
call        the lead calls the roll
answer/R    rank R lives, and what it is at
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from torch.distributed import PrefixStore, Store  # type: ignore[attr-defined]

from nmt_cli.errors import MachineError, NmtError
from nmt_cli.training.ranks import LostRankError, Ranks

SECONDS_TO_MEET = 900.0
"""Where it is not known how long a rank may keep the others waiting."""
SECONDS_TO_START = 120.0
"""That a rank has at least, however little it may keep the others waiting later."""
SECONDS_TO_ANSWER = 3.0
"""After the roll is called: a rank that has said nothing by then is lost."""
SECONDS_TO_FALL = 10.0
"""After a rank is lost: time for a process that waits for it to notice by itself, before it is ended."""
SECONDS_BETWEEN_LOOKS = 0.5


def none_ended() -> Mapping[int, str]:
    """Tell of no process that it has ended: what is known where another program started them."""
    return {}


class RollCall:
    """The notes of one rank, and what it makes of those of the others."""

    def __init__(
        self,
        store: Store,
        ranks: Ranks,
        *,
        ended: Callable[[], Mapping[int, str]] = none_ended,
        processes: Mapping[int, int] = MappingProxyType({}),
    ) -> None:
        """Use the store where the ranks meet; `ended` tells which of the `processes` started here failed, and how."""
        self._notes = PrefixStore("roll-call", store)
        self._ranks, self._ended, self._processes = ranks, ended, processes
        self.timeout = 0.0
        """Seconds after which a rank that keeps the others waiting is lost; 0: not known yet."""

    def meet(self) -> None:
        """Return when all ranks are there.

        Raises:
            LostRankError: one ended before, or does not come.
        """
        self._notes.set(f"here/{self._ranks.rank}", f"{socket.gethostname()} {os.getpid()}")
        names = [f"here/{rank}" for rank in range(self._ranks.world_size)]
        patience = max(SECONDS_TO_START, self.timeout) if self.timeout else SECONDS_TO_MEET
        deadline = time.monotonic() + patience
        try:
            while not self._notes.check(names):
                if self._notes.check(["fault"]) or self._ended():
                    raise LostRankError("not all came")
                if time.monotonic() >= deadline:
                    raise LostRankError(f"not all came within {patience:.0f} s")
                time.sleep(0.05)
        except RuntimeError as error:
            raise LostRankError("the store where the ranks meet is gone") from error

    def leave_word(self, error: BaseException) -> None:
        """Note why this rank ends, for the lead to tell."""
        if isinstance(error, LostRankError):
            self._answer("lost")
        else:
            word = {"where": str(self._ranks.standing), "why": reason_of(error)}
            with contextlib.suppress(RuntimeError):  # nobody is left to read it
                self._notes.set(f"raised/{self._ranks.rank}", json.dumps(word))
        with contextlib.suppress(RuntimeError):
            self._notes.set("fault", "1")

    def lead_lives(self) -> bool:
        """Tell whether the lead has something to say in time: of a rank that is lost, and so calls, or of itself."""
        try:
            return _in_time(lambda: any(self._notes.check([name]) for name in ("call", "raised/0")))
        except RuntimeError:
            return False

    def name_the_lost(self, said: str) -> str:
        """Return one line: which rank is lost, since which update, and what is known of why.

        Waits a moment for the others to say that they live; `said` is what torch said.
        """
        with contextlib.suppress(RuntimeError):
            self._notes.set("call", "1")
            _in_time(lambda: bool(self._ended()) or self._all_spoke())
        who, where, why = self._verdict(self._as_timeout(said))
        return f"{who} was lost {where}: {why}; the same command goes on from the last checkpoint"

    def _verdict(self, said: str) -> tuple[str, str, str]:
        where = str(self._ranks.standing)
        raised = {rank: word for rank in self._others if (word := self._word(f"raised/{rank}"))}
        if raised:
            rank, word = next(iter(raised.items()))
            return self._name(rank), word["where"], word["why"]
        ended = self._ended()
        if ended:
            return self._name(min(ended)), where, ended[min(ended)]
        absent = [rank for rank in self._others if not self._place_of(rank)]
        if absent:  # those who came wait for them, and do not answer yet
            return ", ".join(map(self._name, absent)), where, f"did not come to where the ranks meet ({said})"
        answers = {rank: self._word(f"answer/{rank}") for rank in self._others}
        silent = [rank for rank, answer in answers.items() if not answer]
        if silent:
            return ", ".join(map(self._name, silent)), where, f"no sign of life ({said})"
        busy = {rank: answer for rank, answer in answers.items() if answer["is"] == "busy"}
        if busy:
            rank, answer = max(busy.items(), key=lambda item: item[1]["seconds"])
            return self._name(rank), where, f"at work on it for {answer['seconds']:.0f} s ({said})"
        return "the connection between ranks", where, f"all of them answer ({said})"

    @property
    def _others(self) -> list[int]:
        return [rank for rank in range(self._ranks.world_size) if rank != self._ranks.rank]

    def _as_timeout(self, said: str) -> str:
        if "Timed out" in said or "timeout" in said:
            return f"the others waited {self.timeout / 60:g} minutes, machine.rank_timeout_minutes"
        return said

    def _all_spoke(self) -> bool:
        raised = [rank for rank in self._others if self._notes.check([f"raised/{rank}"])]
        return bool(raised) or all(self._notes.check([f"answer/{rank}"]) for rank in self._others)

    def _word(self, name: str) -> dict[str, Any]:
        try:
            return dict(json.loads(self._notes.get(name))) if self._notes.check([name]) else {}
        except RuntimeError:
            return {}

    def _name(self, rank: int) -> str:
        place = self._place_of(rank)
        if not place:
            return f"rank {rank} (process {self._processes[rank]})" if rank in self._processes else f"rank {rank}"
        host, pid = place
        return f"rank {rank} ({'' if host == socket.gethostname() else f'on {host}, '}process {pid})"

    def _place_of(self, rank: int) -> list[str]:
        """Return the machine and the process of a rank, once it came."""
        with contextlib.suppress(RuntimeError):
            if self._notes.check([f"here/{rank}"]):
                return self._notes.get(f"here/{rank}").decode().split()
        return []

    def _answer(self, state: str) -> None:
        word = {"is": state, "seconds": self._ranks.standing.seconds}
        with contextlib.suppress(RuntimeError):
            self._notes.set(f"answer/{self._ranks.rank}", json.dumps(word))

    @contextlib.contextmanager
    def attended(self) -> Iterator[None]:
        """Have a thread answer for this rank during the block, and end the process if it waits for a lost one."""
        done = threading.Event()
        thread = threading.Thread(target=self._attend, args=(done,), daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join(SECONDS_TO_ANSWER)

    def _attend(self, done: threading.Event) -> None:
        is_lead = self._ranks.rank == 0
        lost_since: float | None = None
        while not done.wait(SECONDS_BETWEEN_LOOKS):
            standing = self._ranks.standing
            if lost_since is None and self._is_fault():
                lost_since = time.monotonic()
                if is_lead:
                    with contextlib.suppress(RuntimeError):
                        self._notes.set("call", "1")
                else:
                    self._answer("waits" if standing.waits else "busy")
            since = 0.0 if lost_since is None else time.monotonic() - lost_since
            falls = since >= SECONDS_TO_FALL and standing.waits
            if falls or (self.timeout and standing.seconds > self.timeout + 2 * SECONDS_TO_FALL):
                if is_lead:
                    sys.stderr.write(f"nmt: {self.name_the_lost('it did not return from waiting')}\n")
                    sys.stderr.flush()
                os._exit(MachineError.exit_code)

    def _is_fault(self) -> bool:
        try:
            return bool(self._ended() or self._notes.check(["fault"]) or self._notes.check(["call"]))
        except RuntimeError:  # the store is gone, and whoever kept it
            return True


def _in_time(is_so: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + SECONDS_TO_ANSWER
    while not is_so():
        if time.monotonic() >= deadline:
            return False
        time.sleep(0.05)
    return True


def reason_of(error: BaseException) -> str:
    """Return an error as one line; a defect with its kind and its place in the source."""
    lines = str(error).strip().splitlines()
    if isinstance(error, NmtError) and lines:
        return lines[0]
    frames = traceback.extract_tb(error.__traceback__)
    where = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    return f"{type(error).__name__}{f': {lines[0][:200]}' if lines else ''}{where}"
