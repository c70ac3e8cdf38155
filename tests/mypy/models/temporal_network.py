from __future__ import annotations

import tapegrad as tg
from tapegrad import Tensor, nn


class Chomp(nn.Module):
    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = size

    def forward(self, x: Tensor) -> Tensor:
        return x[:, :, : -self.size]


class TemporalBlock(nn.Module):
    def __init__(self, n_inputs: int, n_outputs: int, kernel: int, stride: int, dilation: int, padding: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv1d(n_inputs, n_outputs, kernel, stride=stride, padding=padding, dilation=dilation)
        self.chomp1 = Chomp(padding)
        self.conv2 = nn.Conv1d(n_outputs, n_outputs, kernel, stride=stride, padding=padding, dilation=dilation)
        self.chomp2 = Chomp(padding)
        self.net = nn.Sequential(self.conv1, self.chomp1, nn.ReLU(), self.conv2, self.chomp2, nn.ReLU())
        self.downsample = nn.Conv1d(n_inputs, n_outputs, 1) if n_inputs != n_outputs else None

    def forward(self, x: Tensor) -> Tensor:
        out = self.net(x)
        res = x if self.downsample is None else self.downsample(x)
        return tg.relu(out + res)


class TemporalConvNet(nn.Module):
    def __init__(self, num_inputs: int, num_channels: list[int], kernel: int = 3) -> None:
        super().__init__()
        layers = []
        num_levels = len(num_channels)
        for i in range(num_levels):
            dilation_size = 2**i
            in_channels = num_inputs if i == 0 else num_channels[i - 1]
            out_channels = num_channels[i]
            layers += [
                TemporalBlock(
                    in_channels,
                    out_channels,
                    kernel,
                    stride=1,
                    dilation=dilation_size,
                    padding=(kernel - 1) * dilation_size,
                )
            ]
        self.network = nn.Sequential(*layers)

    def forward(self, x: Tensor) -> Tensor:
        return self.network(x)


class TCN(nn.Module):
    def __init__(self, input_size: int, output_size: int, num_channels: list[int], kernel: int) -> None:
        super().__init__()
        self.tcn = TemporalConvNet(input_size, num_channels, kernel=kernel)
        self.linear = nn.Linear(num_channels[-1], output_size)

    def forward(self, x: Tensor) -> Tensor:
        y = self.tcn(x)
        return self.linear(y[:, :, -1])


model = TCN(1, 10, [8] * 3, kernel=3)
y = model(tg.zeros((4, 1, 28)))
result = tg.cross_entropy(y, tg.tensor([1, 2, 3, 4]))
result = y + tg.zeros((4, 10))
