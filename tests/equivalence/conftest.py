"""One thread: these tensors are small, and threads that wait for one another only cost time."""

from __future__ import annotations

import torch

torch.set_num_threads(1)
