from __future__ import annotations

from typing import Any

import tapegrad as tg
from tapegrad import Tensor, nn


class BasicConv(nn.Module):
    def __init__(self, inputs: int, outputs: int, **kwargs: Any) -> None:
        super().__init__()
        self.conv = nn.Conv2d(inputs, outputs, bias=False, **kwargs)
        self.bn = nn.BatchNorm2d(outputs)

    def forward(self, x: Tensor) -> Tensor:
        return tg.relu(self.bn(self.conv(x)))


class Inception(nn.Module):
    def __init__(self, inputs: int, c1: int, c3r: int, c3: int, c5r: int, c5: int, pool: int) -> None:
        super().__init__()
        self.b1 = BasicConv(inputs, c1, kernel=1)
        self.b2 = nn.Sequential(BasicConv(inputs, c3r, kernel=1), BasicConv(c3r, c3, kernel=3, padding=1))
        self.b3 = nn.Sequential(BasicConv(inputs, c5r, kernel=1), BasicConv(c5r, c5, kernel=5, padding=2))
        self.b4 = nn.Sequential(nn.MaxPool2d(3, stride=1, padding=1), BasicConv(inputs, pool, kernel=1))
        self.out = c1 + c3 + c5 + pool

    def forward(self, x: Tensor) -> Tensor:
        return tg.concat([self.b1(x), self.b2(x), self.b3(x), self.b4(x)], axis=1)


class SqueezeExcite(nn.Module):
    def __init__(self, channels: int, reduction: int = 4) -> None:
        super().__init__()
        self.fc1 = nn.Linear(channels, channels // reduction)
        self.fc2 = nn.Linear(channels // reduction, channels)

    def forward(self, x: Tensor) -> Tensor:
        b, c, _, _ = x.shape
        s = x.mean(axis=(2, 3))
        s = tg.sigmoid(self.fc2(tg.relu(self.fc1(s))))
        return x * s.reshape((b, c, 1, 1))


class GoogLeNet(nn.Module):
    def __init__(self, classes: int = 7, use_se: bool = True) -> None:
        super().__init__()
        self.stem = BasicConv(3, 16, kernel=3, stride=2, padding=1)
        self.a = Inception(16, 8, 8, 12, 4, 6, 6)
        self.b = Inception(self.a.out, 12, 8, 16, 4, 8, 4)
        self.se = SqueezeExcite(self.b.out) if use_se else nn.Sequential()
        self.head = nn.Linear(self.b.out, classes)

    def forward(self, x: Tensor) -> Tensor:
        x = self.stem(x)
        x = self.a(x)
        x = self.se(self.b(x))
        return self.head(x.mean(axis=(-2, -1)))


model = GoogLeNet()
y = model(tg.zeros((2, 3, 12, 12)))
result = y * tg.ones((7,))
result = y.reshape((2, 7))
