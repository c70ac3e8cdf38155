"""Operator overloads that give type checkers without the plugin the tape of a result: to them `Merge` is `Any`.

mypy does not use them: overloads would slow it down, and the plugin infers the tape.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol, overload

if TYPE_CHECKING:
    from tapegrad.autograd.tape import NoneTape, OwnedTape
    from tapegrad.tensor import T2, D, Operand, T, Tensor

MYPY: Final = False  # mypy treats a condition of this name as true

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
