"""Prints the figures of the demo corpus: python -m nmt_cli.corpora.demo."""

from __future__ import annotations

import sys
from dataclasses import asdict

from nmt_cli.corpora.demo.statistics import demo_statistics

for name, value in asdict(demo_statistics()).items():
    sys.stdout.write(f"{name}: {value}\n")
