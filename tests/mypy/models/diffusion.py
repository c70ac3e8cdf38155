from __future__ import annotations

import math

import numpy as np

import tapegrad as tg
from tapegrad import Tensor, nn


def timestep_embedding(t: Tensor, dim: int) -> Tensor:
    half = dim // 2
    freqs = tg.exp(-math.log(10000) * tg.arange(half).astype(np.float32) / half)
    args = t[:, None].astype(np.float32) * freqs[None]
    return tg.concat([tg.cos(args), tg.sin(args)], axis=-1)


class ResBlock(nn.Module):
    def __init__(self, inputs: int, outputs: int, emb: int, groups: int = 4) -> None:
        super().__init__()
        self.norm1 = nn.GroupNorm(groups, inputs)
        self.conv1 = nn.Conv2d(inputs, outputs, 3, padding=1)
        self.emb = nn.Linear(emb, outputs)
        self.norm2 = nn.GroupNorm(groups, outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1)
        self.skip = nn.Conv2d(inputs, outputs, 1) if inputs != outputs else nn.Sequential()

    def forward(self, x: Tensor, emb: Tensor) -> Tensor:
        h = self.conv1(tg.silu(self.norm1(x)))
        h = h + self.emb(tg.silu(emb))[:, :, None, None]
        h = self.conv2(tg.silu(self.norm2(h)))
        return h + self.skip(x)


class UNet(nn.Module):
    def __init__(self, channels: int = 3, base: int = 8, mults: tuple[int, ...] = (1, 2, 4)) -> None:
        super().__init__()
        self.base = base
        emb = 4 * base
        self.time = nn.Sequential(nn.Linear(base, emb), nn.SiLU(), nn.Linear(emb, emb))
        self.inp = nn.Conv2d(channels, base, 3, padding=1)
        self.downs: list[ResBlock] = []
        self.ups: list[ResBlock] = []
        ch = base
        skips = []
        for m in mults:
            self.downs.append(ResBlock(ch, base * m, emb))
            ch = base * m
            skips.append(ch)
        self.mid = ResBlock(ch, ch, emb)
        for m in reversed(mults):
            self.ups.append(ResBlock(ch + skips.pop(), base * m, emb))
            ch = base * m
        self.pool = nn.AvgPool2d(2)
        self.up = nn.Upsample(2)
        self.out = nn.Conv2d(ch, channels, 3, padding=1)

    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        emb = self.time(timestep_embedding(t, self.base))
        h = self.inp(x)
        hs = []
        for block in self.downs:
            h = block(h, emb)
            hs.append(h)
            h = self.pool(h)
        h = self.mid(h, emb)
        for block in self.ups:
            h = self.up(h)
            h = block(tg.concat([h, hs.pop()], axis=1), emb)
        return self.out(h)


model = UNet()
x = tg.normal((2, 3, 16, 16), rng=0)
t = tg.tensor([1, 5])
noise = tg.normal((2, 3, 16, 16), rng=1)
result = tg.mse(model(x, t), noise)
