"""Upsampling layers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, Literal

from typing_extensions import TypeVar, TypeVarTuple, override

from tapegrad.guard import guarded
from tapegrad.nn.module import Module
from tapegrad.ops import upsample2d

if TYPE_CHECKING:
    from tapegrad.sizes import Mul
    from tapegrad.tensors import Float, T, Tensor
    from tapegrad.tensors.aliases import Shape

Scale = TypeVar("Scale", bound=int, default=Any, covariant=True)
Batch = TypeVarTuple("Batch")
H = TypeVar("H", bound=int)
W = TypeVar("W", bound=int)


class Upsample(Module, Generic[Scale]):
    r"""Upsample images by an integer factor; see `tapegrad.upsample2d`.

    Args:
        scale: The factor of height and width.
        mode: `nearest` copies pixels, `bilinear` interpolates between neighbours.
        align_corners: Whether the centers of the corner pixels are aligned; only for `bilinear`.

    Examples:
        >>> image = tg.tensor([[[1.0, 2.0]]])
        >>> tg.nn.Upsample(2)(image).tolist()
        [[[1.0, 1.0, 2.0, 2.0], [1.0, 1.0, 2.0, 2.0]]]
        >>> tg.nn.Upsample(2, mode="bilinear")(image).tolist()
        [[[1.0, 1.25, 1.75, 2.0], [1.0, 1.25, 1.75, 2.0]]]
    """

    @guarded
    def __init__(
        self: Upsample[Any],
        scale: Scale,
        *,
        mode: Literal["nearest", "bilinear"] = "nearest",
        align_corners: bool = False,
    ) -> None:
        self.scale, self.align_corners = scale, align_corners
        self.mode: Literal["nearest", "bilinear"] = mode

    @override
    def forward(
        self, x: Tensor[Shape[*Batch, H, W], T, Float]
    ) -> Tensor[Shape[*Batch, Mul[H, Scale], Mul[W, Scale]], T, Float]:
        """Compute `upsample2d(x, scale, …)` for `x` of shape `(N, C, H, W)` or `(C, H, W)`."""
        return upsample2d(x, self.scale, mode=self.mode, align_corners=self.align_corners)

    @override
    def __repr__(self) -> str:
        return f"Upsample({self.scale})" if self.mode == "nearest" else f"Upsample({self.scale}, mode={self.mode!r})"
