"""nmt: a command-line translation toolkit around one PyTorch Transformer."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nmt_cli.decoding.translator import Translator as Translator

__version__ = "0.1.0"
__all__ = ["Translator", "__version__"]


def __getattr__(name: str) -> object:
    """Load `Translator` at its first use: it needs torch, and `nmt --help` must not."""
    if name == "Translator":
        from nmt_cli.decoding.translator import Translator

        return Translator
    raise AttributeError(f"module 'nmt_cli' has no attribute {name!r}")
