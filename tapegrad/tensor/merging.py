"""Overloads of operators and losses that give type checkers without the plugin the tape of a result.

To these checkers `Merge` is `Any`.

mypy does not use them: overloads would slow it down, and the plugin infers the tape.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar, overload

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Concatenate, ParamSpec

    import numpy as np

    from tapegrad.autograd.tape import NoneTape, OwnedTape
    from tapegrad.tensor import T2, D, Float, Operand, T, Tensor

    P = ParamSpec("P")  # the options of a loss

    G = TypeVar("G", bound=np.generic, contravariant=True)  # the dtypes of a target

F = TypeVar("F")

MYPY: Final = False  # mypy treats a condition of this name as true


def merging_loss(loss: F) -> F:
    """Return a loss; other checkers than mypy read the definition below, by which its tape is that of its operands."""
    return loss


def merging_loss_of_labels(loss: F) -> F:
    """Return a loss whose target may be labels, see `merging_loss`."""
    return loss


if TYPE_CHECKING:  # nested, because pyrefly does not evaluate a condition with `and`
    if not MYPY:

        class _Open(NoneTape, OwnedTape):
            """A type that only a tape of type Any matches; the tape of the result is then Any, too."""

        class _Bound(Protocol[T, D]):
            @overload
            def __call__(self: _Bound[_Open, D], y: Operand[Any], /) -> Tensor[Any, Any, D]: ...
            @overload
            def __call__(self: _Bound[OwnedTape, D], y: Operand[Any], /) -> Tensor[Any, OwnedTape, D]: ...
            @overload
            def __call__(self, y: Tensor[Any, _Open, Any], /) -> Tensor[Any, Any, D]: ...
            @overload
            def __call__(self, y: Operand[T | NoneTape], /) -> Tensor[Any, T, D]: ...
            @overload
            def __call__(self, y: Tensor[Any, OwnedTape, Any], /) -> Tensor[Any, OwnedTape, D]: ...
            @overload
            def __call__(self: _Bound[NoneTape, D], y: Tensor[Any, T2, Any], /) -> Tensor[Any, T2, D]: ...
            @overload
            def __call__(self, y: Tensor[Any, Any, Any], /) -> Tensor[Any, Any, D]: ...

        class _Operator:
            def __get__(self, x: Tensor[Any, T, D], owner: Any) -> _Bound[T, D]: ...

        def merging(operator: Any) -> _Operator:
            """Infer the tape of an operator's result from its operands, two tensors or a tensor and a number."""

        class _Loss(Protocol[G, P]):
            @overload
            def __call__(
                self, x: Tensor[Any, _Open, Float], target: Tensor[Any, Any, G], *args: P.args, **options: P.kwargs
            ) -> Tensor[Any, Any, Float]: ...
            @overload
            def __call__(
                self, x: Tensor[Any, OwnedTape, Float], target: Tensor[Any, Any, G], *args: P.args, **options: P.kwargs
            ) -> Tensor[Any, OwnedTape, Float]: ...
            @overload
            def __call__(
                self, x: Tensor[Any, Any, Float], target: Tensor[Any, _Open, G], *args: P.args, **options: P.kwargs
            ) -> Tensor[Any, Any, Float]: ...
            @overload
            def __call__(
                self, x: Tensor[Any, T, Float], target: Tensor[Any, NoneTape, G], *args: P.args, **options: P.kwargs
            ) -> Tensor[Any, T, Float]: ...
            @overload
            def __call__(
                self, x: Tensor[Any, Any, Float], target: Tensor[Any, OwnedTape, G], *args: P.args, **options: P.kwargs
            ) -> Tensor[Any, OwnedTape, Float]: ...
            @overload
            def __call__(
                self, x: Tensor[Any, Any, Float], target: Tensor[Any, Any, G], *args: P.args, **options: P.kwargs
            ) -> Tensor[Any, Any, Float]: ...

        def merging_loss(loss: Callable[Concatenate[Any, Any, P], Any]) -> _Loss[np.floating[Any], P]:
            """Infer the tape of a loss from its prediction and its target."""

        def merging_loss_of_labels(
            loss: Callable[Concatenate[Any, Any, P], Any],
        ) -> _Loss[np.floating[Any] | np.integer[Any], P]:
            """Infer the tape of a loss whose target may be labels."""
