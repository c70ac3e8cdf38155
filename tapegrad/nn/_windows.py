"""Type variables and size formulas of convolution and pooling layers, and the base class of convolutions.

A layer has one number for all axes or one for each axis. An axis without a number of its own has that of the first.
"""

from __future__ import annotations

from math import prod, sqrt
from typing import Any, Literal

from typing_extensions import TypeAliasType, TypeVar, TypeVarTuple, override

from tapegrad.generator import RNG, generator
from tapegrad.nn.module import Module
from tapegrad.nn.param import Param
from tapegrad.ops import uniform
from tapegrad.sizes import Add, FloorDiv, Mul, Sub
from tapegrad.sizes.arithmetic import Smallest
from tapegrad.sizes.constraints import check_groups, check_same

In = TypeVar("In", bound=int, default=Any, covariant=True)
Out = TypeVar("Out", bound=int, default=Any, covariant=True)
Kernel = TypeVar("Kernel", bound=int, default=Any, covariant=True)
Stride = TypeVar("Stride", bound=int, default=Literal[1], covariant=True)
Padding = TypeVar("Padding", bound=int, default=Literal[0], covariant=True)
OutputPadding = TypeVar("OutputPadding", bound=int, default=Literal[0], covariant=True)
Dilation = TypeVar("Dilation", bound=int, default=Literal[1], covariant=True)
KernelH = TypeVar("KernelH", bound=int, default=Kernel, covariant=True)
StrideH = TypeVar("StrideH", bound=int, default=Stride, covariant=True)
PaddingH = TypeVar("PaddingH", bound=int, default=Padding, covariant=True)
DilationH = TypeVar("DilationH", bound=int, default=Dilation, covariant=True)
KernelW = TypeVar("KernelW", bound=int, default=Kernel, covariant=True)
StrideW = TypeVar("StrideW", bound=int, default=Stride, covariant=True)
PaddingW = TypeVar("PaddingW", bound=int, default=Padding, covariant=True)
OutputPaddingW = TypeVar("OutputPaddingW", bound=int, default=OutputPadding, covariant=True)
DilationW = TypeVar("DilationW", bound=int, default=Dilation, covariant=True)
Batch = TypeVarTuple("Batch")
D = TypeVar("D", bound=int)
H = TypeVar("H", bound=int)
W = TypeVar("W", bound=int)

_N = TypeVar("_N", bound=int)
_K = TypeVar("_K", bound=int)
_S = TypeVar("_S", bound=int)
_P = TypeVar("_P", bound=int)
_O = TypeVar("_O", bound=int)
_D = TypeVar("_D", bound=int)
_C = TypeVar("_C", bound=bool)

Span = TypeAliasType("Span", Add[Mul[_D, Sub[_K, Literal[1]]], Literal[1]], type_params=(_K, _D))
"""`Span[Kernel, Dilation]` is the number of cells that a dilated kernel spans."""
Windows = TypeAliasType(
    "Windows",
    Add[FloorDiv[Sub[Add[_N, Mul[Literal[2], _P]], Span[_K, _D]], _S], Literal[1]],
    type_params=(_N, _K, _S, _P, _D),
)
"""`Windows[N, Kernel, Stride, Padding, Dilation]` is the number of windows in N cells: `tapegrad.sizes.window`."""
Pooled = TypeAliasType(
    "Pooled",
    Add[
        FloorDiv[
            Smallest[
                Add[Sub[Add[_N, Mul[Literal[2], _P]], Span[_K, _D]], Mul[_C, Sub[_S, Literal[1]]]],
                Sub[Add[_N, _P], Literal[1]],
            ],
            _S,
        ],
        Literal[1],
    ],
    type_params=(_N, _K, _S, _P, _D, _C),
)
"""`Pooled[N, Kernel, Stride, Padding, Dilation, CeilMode]` is `Windows`, or the number with `ceil_mode`."""
Covered = TypeAliasType(
    "Covered",
    Add[Sub[Add[Mul[Sub[_N, Literal[1]], _S], Span[_K, _D]], Mul[Literal[2], _P]], _O],
    type_params=(_N, _K, _S, _P, _O, _D),
)
"""`Covered[N, Kernel, Stride, Padding, OutputPadding, Dilation]` is the number of cells that N windows cover."""


class Convolution(Module):
    """Base class of convolution layers, optionally with groups of channels."""

    weight: Param[Any]
    bias: Param[Any] | None
    stride: Any
    padding: Any
    dilation: Any
    groups: int

    def _draw(self, channels: tuple[int, int], kernel: Any, groups: int, biases: int | None, rng: RNG) -> None:
        """Draw the weight, whose second axis has the channels of one group, and the bias, if there is one."""
        _check(self, channels, groups)
        rng, shape = generator(rng), (channels[0], channels[1] // groups, *kernel)
        bound = 1 / sqrt(prod(shape[1:]))
        self.groups = groups
        self.weight = Param(uniform(shape, low=-bound, high=bound, rng=rng))
        self.bias = None if biases is None else Param(uniform((biases,), low=-bound, high=bound, rng=rng))

    @override
    def __repr__(self) -> str:
        first, second, *kernel = self.weight.shape
        is_transposed = hasattr(self, "output_padding")
        channels = (first, second * self.groups) if is_transposed else (second * self.groups, first)
        options = {name: getattr(self, name) for name in _PLAIN if hasattr(self, name)}
        options = [f"{name}={value!r}" for name, value in options.items() if value != _PLAIN[name]]
        options += ["bias=False"] if self.bias is None else []
        size = kernel[0] if len(set(kernel)) == 1 else tuple(kernel)
        return f"{type(self).__name__}({', '.join([*map(str, (*channels, size)), *options])})"


_PLAIN = {"stride": 1, "padding": 0, "output_padding": 0, "dilation": 1, "groups": 1}


def _check(layer: Convolution, channels: tuple[int, int], groups: int) -> None:
    name = type(layer).__name__
    check_groups(name, groups, *channels)
    check_same(name, layer.padding, layer.stride)
