"""What can go wrong, and the exit code of each kind.

    NmtError                 1
    ├── UsageError           2   options and settings
    ├── DataError            3   corpora, text, encoded folders
    ├── ModelError           4   model folders, checkpoints, engines
    ├── DivergedError        5   training that cannot go on
    ├── MachineError         6   disk, memory, a lost rank, network
    └── StoppedError       130   Ctrl-C (130) or SIGTERM (143), after saving

An `NmtError` is the user's to mend: it is shown as one line that says what, where, both values and
the way out. Every other exception is a defect of ours and keeps its traceback.
"""

from __future__ import annotations


class NmtError(Exception):
    """A problem that the user can mend; `str()` of it is the line to show."""

    exit_code = 1


class UsageError(NmtError):
    """An option or a setting that cannot be followed."""

    exit_code = 2


class DataError(NmtError):
    """Text or an encoded corpus that cannot be used as it is."""

    exit_code = 3


class ModelError(NmtError):
    """A model folder or checkpoint that is missing, damaged or of another kind."""

    exit_code = 4


class DivergedError(NmtError):
    """Training whose numbers are no longer finite."""

    exit_code = 5


class MachineError(NmtError):
    """The machine gave out: disk, memory, a rank, the network."""

    exit_code = 6


class StoppedError(NmtError):
    """The user or the system asked the program to stop, and it did so in order."""

    def __init__(self, message: str, *, exit_code: int) -> None:
        """Remember which signal it was: 130 for Ctrl-C, 143 for SIGTERM."""
        super().__init__(message)
        self.exit_code = exit_code
