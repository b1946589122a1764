"""Curves for TensorBoard in the run's tensorboard/, where `machine.tensorboard` asks for them."""

from __future__ import annotations

import contextlib
import importlib
import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from nmt_cli.config import MachineConfig
from nmt_cli.errors import MachineError
from nmt_cli.files import writing_to
from nmt_cli.training.run_folder import RunFolder

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter

FOLDER = "tensorboard"
WRITER = "torch.utils.tensorboard"


class Curves:
    """The numbers of metrics.jsonl by step, each as KIND/NAME."""

    def __init__(self, folder: Path) -> None:
        """Name the folder; nothing is written yet."""
        self._folder = folder
        self._writer: SummaryWriter | None = None

    def begin_after(self, step: int) -> None:
        """Write from here on, and have TensorBoard forget later steps, which the run will do again."""
        from torch.utils.tensorboard import SummaryWriter

        with writing_to(self._folder):
            self._writer = SummaryWriter(str(self._folder), purge_step=step + 1)

    def add(self, record: dict[str, object]) -> None:
        """Write the finite numbers of a record, so that they can be seen at once."""
        kind, step = record["kind"], record["step"]
        if self._writer is None:
            return
        with writing_to(self._folder):
            for name, value in record.items():
                if name != "step" and isinstance(value, int | float) and math.isfinite(value):
                    self._writer.add_scalar(f"{kind}/{name}", value, step)
            self._writer.flush()

    def close(self) -> None:
        """Write what is left."""
        if self._writer is not None:
            with writing_to(self._folder):
                self._writer.close()


@contextlib.contextmanager
def curves_of(run: RunFolder, machine: MachineConfig) -> Iterator[Curves | None]:
    """Give the curves of a run, closed at the end; None where the settings ask for none."""
    if not machine.tensorboard:
        yield None
        return
    with contextlib.closing(Curves(run.path / FOLDER)) as curves:
        yield curves


def require_tensorboard(machine: MachineConfig) -> None:
    """Check that the package is there, if the settings ask for curves.

    Raises:
        MachineError: it is not.
    """
    if not machine.tensorboard:
        return
    try:
        importlib.import_module(WRITER)
    except ImportError as error:
        raise MachineError(
            f"machine.tensorboard is true, but TensorBoard cannot be used ({error}); "
            "pip install nmt-cli[tensorboard], or leave --tensorboard out"
        ) from None
