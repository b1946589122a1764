"""Beginning with the weights of a model instead of drawn ones."""

from __future__ import annotations

from pathlib import Path

from nmt_cli.batches.training_data import encode_with
from nmt_cli.errors import UsageError
from nmt_cli.model.load import fill
from nmt_cli.model_folder import ModelFolder, open_model_folder
from nmt_cli.training.trained import Trained


def begin_with_model(trained: Trained, path: Path) -> None:
    """Give what is being trained the weights of a model folder; steps, rates and moments begin anew.

    Raises:
        ModelError: no model, a damaged one, or one of another architecture.
        UsageError: the corpus was encoded with other subwords.
    """
    model = open_model_folder(path)
    refuse_other_subwords(trained, model)
    fill(trained.model, model.weights(), where=f"{path}, to begin with")
    trained.begin_average()


def refuse_other_subwords(trained: Trained, model: ModelFolder) -> None:
    """Check that the ids of the corpus mean to the model what they meant.

    Raises:
        UsageError: naming both, and the way out.
    """
    pieces = trained.pieces
    here = {name: pieces.manifest["files"][name] for name in pieces.subwords}
    there = {name: digest for name, digest in model.digests.items() if name.endswith(".model")}
    if here != there:
        digests = " and ".join("/".join(f"{digest[:12]}…" for digest in found.values()) for found in (here, there))
        raise UsageError(
            f"{pieces.name} was encoded with other subwords than those of {model.path} ({digests}); "
            f"{encode_with(model.path, pieces.paths[0])}"
        )
