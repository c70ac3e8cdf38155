from __future__ import annotations

import tapegrad as tg
from tapegrad import Tensor, nn


def _make_divisible(v: float, divisor: int = 8) -> int:
    new_v = max(divisor, int(v + divisor / 2) // divisor * divisor)
    if new_v < 0.9 * v:
        new_v += divisor
    return new_v


class ConvBNReLU(nn.Module):
    def __init__(self, inputs: int, outputs: int, kernel: int = 3, stride: int = 1, groups: int = 1) -> None:
        super().__init__()
        padding = (kernel - 1) // 2
        self.conv = nn.Conv2d(inputs, outputs, kernel, stride=stride, padding=padding, groups=groups, bias=False)
        self.norm = nn.BatchNorm2d(outputs)

    def forward(self, x: Tensor) -> Tensor:
        return tg.clamp(self.norm(self.conv(x)), min=0.0, max=6.0)


class InvertedResidual(nn.Module):
    def __init__(self, inp: int, oup: int, stride: int, expand: int) -> None:
        super().__init__()
        hidden = int(round(inp * expand))
        self.use_res = stride == 1 and inp == oup
        layers: list[nn.Module] = []
        if expand != 1:
            layers.append(ConvBNReLU(inp, hidden, kernel=1))
        layers.extend(
            [
                ConvBNReLU(hidden, hidden, stride=stride, groups=hidden),
                nn.Conv2d(hidden, oup, 1, bias=False),
                nn.BatchNorm2d(oup),
            ]
        )
        self.conv = nn.Sequential(*layers)

    def forward(self, x: Tensor) -> Tensor:
        if self.use_res:
            return x + self.conv(x)
        return self.conv(x)


class MobileNetV2(nn.Module):
    def __init__(self, classes: int = 10, width_mult: float = 1.0) -> None:
        super().__init__()
        input_channel = 8
        last_channel = 32
        setting = [
            [1, 8, 1, 1],
            [2, 16, 2, 2],
            [2, 24, 1, 2],
        ]
        input_channel = _make_divisible(input_channel * width_mult)
        self.last_channel = _make_divisible(last_channel * max(1.0, width_mult))
        features: list[nn.Module] = [ConvBNReLU(3, input_channel, stride=2)]
        for t, c, n, s in setting:
            output_channel = _make_divisible(c * width_mult)
            for i in range(n):
                stride = s if i == 0 else 1
                features.append(InvertedResidual(input_channel, output_channel, stride, expand=t))
                input_channel = output_channel
        features.append(ConvBNReLU(input_channel, self.last_channel, kernel=1))
        self.features = nn.Sequential(*features)
        self.classifier = nn.Sequential(nn.Dropout(0.2), nn.Linear(self.last_channel, classes))

    def forward(self, x: Tensor) -> Tensor:
        x = self.features(x)
        x = x.mean(axis=(2, 3))
        return self.classifier(x)


model = MobileNetV2(classes=10)
y = model(tg.zeros((2, 3, 16, 16)))
labels = tg.tensor([1, 2])
result = tg.cross_entropy(y, labels)
result = y + tg.zeros((2, 10))
