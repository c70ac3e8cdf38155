from __future__ import annotations

import math
from typing import Any

import tapegrad as tg
from tapegrad import Tensor, nn, optim


def mlp(sizes: list[int], activation: type[nn.Module] = nn.Tanh) -> nn.Sequential[Any]:
    layers: list[nn.Module] = []
    for i in range(len(sizes) - 1):
        layers.append(nn.Linear(sizes[i], sizes[i + 1]))
        if i < len(sizes) - 2:
            layers.append(activation())
    return nn.Sequential(*layers)


class Coupling(nn.Module):
    def __init__(self, dim: int, hidden: int, flip: bool) -> None:
        super().__init__()
        self.half = dim // 2
        self.flip = flip
        self.net = mlp([self.half, hidden, hidden, 2 * (dim - self.half)])

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        a, b = x[:, : self.half], x[:, self.half :]
        if self.flip:
            a, b = b, a
        s, t = tg.split(self.net(a), 2, axis=1)
        s = tg.tanh(s)
        b = b * tg.exp(s) + t
        if self.flip:
            a, b = b, a
        return tg.concat([a, b], axis=1), s.sum(axis=1)


class RealNVP(nn.Module):
    def __init__(self, dim: int, hidden: int, layers: int) -> None:
        super().__init__()
        self.dim = dim
        self.layers = [Coupling(dim, hidden, flip=bool(i % 2)) for i in range(layers)]

    def log_prob(self, x: Tensor) -> Tensor:
        log_det = tg.zeros((x.shape[0],))
        for layer in self.layers:
            x, ld = layer(x)
            log_det = log_det + ld
        base = -0.5 * (x**2).sum(axis=1) - 0.5 * self.dim * math.log(2 * math.pi)
        return base + log_det

    def forward(self, x: Tensor) -> Tensor:
        return self.log_prob(x)


model = RealNVP(dim=6, hidden=16, layers=4)
opt = optim.Adam(model, lr=1e-3)
data = tg.normal((32, 6), rng=0)
for step in range(2):
    loss = -model.log_prob(data.trace()).mean()
    opt.step(loss.backward())
result = model(data) + tg.zeros((32,))
