from __future__ import annotations

import numpy as np

import tapegrad as tg
from tapegrad import Tensor, nn


class Encoding(nn.Module):
    def __init__(self, frequencies: int, include_input: bool = True) -> None:
        super().__init__()
        self.frequencies = frequencies
        self.include_input = include_input

    def out_dim(self, in_dim: int) -> int:
        d = 2 * self.frequencies * in_dim
        if self.include_input:
            d += in_dim
        return d

    def forward(self, x: Tensor) -> Tensor:
        parts = [x] if self.include_input else []
        for i in range(self.frequencies):
            parts.append(tg.sin(x * (2.0**i)))
            parts.append(tg.cos(x * (2.0**i)))
        return tg.concat(parts, axis=-1)


class NeRF(nn.Module):
    def __init__(
        self, depth: int = 4, width: int = 32, skips: tuple[int, ...] = (2,), l_pos: int = 4, l_dir: int = 2
    ) -> None:
        super().__init__()
        self.skips = skips
        self.pos = Encoding(l_pos)
        self.dir = Encoding(l_dir)
        in_ch = self.pos.out_dim(3)
        dir_ch = self.dir.out_dim(3)
        layers = []
        for i in range(depth):
            if i == 0:
                layers.append(nn.Linear(in_ch, width))
            elif i in skips:
                layers.append(nn.Linear(width + in_ch, width))
            else:
                layers.append(nn.Linear(width, width))
        self.layers = layers
        self.sigma = nn.Linear(width, 1)
        self.feature = nn.Linear(width, width)
        self.view = nn.Linear(width + dir_ch, width // 2)
        self.rgb = nn.Linear(width // 2, 3)

    def forward(self, x: Tensor, d: Tensor) -> Tensor:
        p = self.pos(x)
        v = self.dir(d)
        h = p
        for i, layer in enumerate(self.layers):
            if i in self.skips:
                h = tg.concat([h, p], axis=-1)
            h = tg.relu(layer(h))
        sigma = self.sigma(h)
        f = self.feature(h)
        h = tg.relu(self.view(tg.concat([f, v], axis=-1)))
        rgb = tg.sigmoid(self.rgb(h))
        return tg.concat([rgb, sigma], axis=-1)


def render(raw: Tensor, z: Tensor) -> Tensor:
    rgb, sigma = raw[..., :3], raw[..., 3]
    delta = z[:, 1:] - z[:, :-1]
    delta = tg.concat([delta, tg.full((z.shape[0], 1), 1e3)], axis=-1)
    alpha = 1.0 - tg.exp(-tg.relu(sigma) * delta)
    trans = tg.cumprod(1.0 - alpha + 1e-10, axis=-1)
    weights = alpha * trans
    return (weights[..., None] * rgb).sum(axis=1)


rays, samples = 6, 8
model = NeRF(depth=4, width=32)
points = tg.normal((rays * samples, 3), rng=0)
dirs = tg.normal((rays * samples, 3), rng=1)
z = tg.tensor(np.linspace(0, 1, samples, dtype=np.float32)).reshape((1, samples)) * tg.ones((rays, 1))
raw = model(points, dirs).reshape((rays, samples, 4))
colour = render(raw, z)
target = tg.zeros((rays, 3))
loss = ((colour - target) ** 2).mean()
result = loss
