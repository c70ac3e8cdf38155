"""Leak test: training grows neither objects, nor memory, nor open files."""

import gc
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad import BalancedCheckpointing, nn, optim

STEPS = 10_000
WARM = 2_000


@tg.fused
def gated(x: Any) -> Any:
    return tg.tanh(x) * tg.sigmoid(x)


class Net(nn.Module):
    def __init__(self) -> None:
        self.first = nn.Linear(5, 7, rng=0)
        self.norm = nn.LayerNorm(7)
        self.drop = nn.Dropout(0.1, rng=1)
        self.second = nn.Linear(7, 3, rng=2)

    def forward(self, x: Any, *, is_rare: bool = False) -> Any:
        h = self.norm(self.first(x))
        return self.second(gated(self.drop(h)) if is_rare else tg.relu(h))


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="only Linux says what a process holds")
def test_nothing_grows_over_ten_thousand_steps() -> None:
    model = Net()
    opt = optim.Adam(model)
    x, y = tg.uniform((4, 5), rng=3), tg.tensor([0, 1, 2, 0])
    held = []

    for step in range(STEPS + 1):
        is_rare = step % 16 == 0
        strategy = BalancedCheckpointing() if is_rare else None
        loss = tg.cross_entropy(model(x.trace(checkpoint=strategy), is_rare=is_rare), y)
        opt.step(loss.backward(wrt=model))
        if step in (WARM, STEPS):
            gc.collect()
            held.append((sys.getallocatedblocks(), _resident(), len(os.listdir("/proc/self/fd"))))  # noqa: PTH208  # names are enough

    (blocks, pages, files), (blocks_after, pages_after, files_after) = held
    assert np.isfinite(loss.item())
    assert blocks_after - blocks < (STEPS - WARM) / 10  # caches that fill, but no object for each step
    assert (pages_after - pages) * os.sysconf("SC_PAGE_SIZE") < 2 << 20
    assert files_after == files


def _resident() -> int:
    """Return how many pages of memory the process has."""
    return int(Path("/proc/self/statm").read_text("ascii").split()[1])
