from __future__ import annotations

import tapegrad as tg
from tapegrad import Tensor, nn


class DenseLayer(nn.Module):
    def __init__(self, inputs: int, growth: int, bn_size: int) -> None:
        super().__init__()
        self.norm1 = nn.BatchNorm2d(inputs)
        self.conv1 = nn.Conv2d(inputs, bn_size * growth, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(bn_size * growth)
        self.conv2 = nn.Conv2d(bn_size * growth, growth, 3, padding=1, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        y = self.conv1(tg.relu(self.norm1(x)))
        y = self.conv2(tg.relu(self.norm2(y)))
        return tg.concat([x, y], axis=1)


class DenseBlock(nn.Module):
    def __init__(self, count: int, inputs: int, growth: int, bn_size: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(*[DenseLayer(inputs + i * growth, growth, bn_size) for i in range(count)])

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x)


class Transition(nn.Module):
    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.norm = nn.BatchNorm2d(inputs)
        self.conv = nn.Conv2d(inputs, outputs, 1, bias=False)
        self.pool = nn.AvgPool2d(2)

    def forward(self, x: Tensor) -> Tensor:
        return self.pool(self.conv(tg.relu(self.norm(x))))


class DenseNet(nn.Module):
    def __init__(
        self, growth: int = 4, block_config: tuple[int, ...] = (2, 3), init: int = 8, bn_size: int = 2, classes: int = 5
    ) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, init, 3, padding=1)
        features = init
        blocks: list[nn.Module] = []
        for i, count in enumerate(block_config):
            blocks.append(DenseBlock(count, features, growth, bn_size))
            features = features + count * growth
            if i != len(block_config) - 1:
                blocks.append(Transition(features, features // 2))
                features = features // 2
        self.blocks = nn.Sequential(*blocks)
        self.norm = nn.BatchNorm2d(features)
        self.classifier = nn.Linear(features, classes)

    def forward(self, x: Tensor) -> Tensor:
        x = self.blocks(self.stem(x))
        x = tg.relu(self.norm(x))
        x = tg.mean(x, axis=(2, 3))
        return self.classifier(x)


model = DenseNet()
y = model(tg.ones((2, 3, 8, 8)))
result = y - tg.zeros((2, 5))
