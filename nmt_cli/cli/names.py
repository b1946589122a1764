"""What options of a few names may be."""

from __future__ import annotations

import enum


class Format(enum.StrEnum):
    """What an output line is."""

    TEXT = "text"
    JSONL = "jsonl"


class Penalty(enum.StrEnum):
    """Length penalties by name."""

    WU = "wu"
    LENGTH = "length"
    NONE = "none"
    WU_RESCORED = "wu-rescored"


class EngineKind(enum.StrEnum):
    """Engines by name."""

    AUTO = "auto"
    TORCH = "torch"
    CTRANSLATE2 = "ctranslate2"


class ComputeType(enum.StrEnum):
    """Number formats by name."""

    AUTO = "auto"
    FLOAT32 = "float32"
    FLOAT16 = "float16"
    BFLOAT16 = "bfloat16"
    INT8 = "int8"
    INT8_FLOAT32 = "int8_float32"
    INT8_FLOAT16 = "int8_float16"
    INT8_BFLOAT16 = "int8_bfloat16"


class Device(enum.StrEnum):
    """Where the model computes."""

    AUTO = "auto"
    CPU = "cpu"
    CUDA = "cuda"
