"""The user's cache folder: what can be made again, or fetched again, at some cost."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path:
    """Return the folder, which may not exist: $NMT_CACHE, else nmt in $XDG_CACHE_HOME or in ~/.cache."""
    named = os.environ.get("NMT_CACHE")
    if named:
        return Path(named)
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "nmt"
