"""What checkers without the plugin are told of the tape of two operands: to them `Merge` is `Any`.

mypy is not: it would pay for each overload of an operator, and the plugin knows the tape.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol, overload

if TYPE_CHECKING:
    from tapegrad.tape import NoneTape, OwnedTape
    from tapegrad.tensor import T2, D, Operand, T, Tensor

MYPY: Final = False  # mypy takes a condition of this name for true

if TYPE_CHECKING:  # in two steps: pyrefly takes a condition with `and` for a maybe
    if not MYPY:

        class _Open(NoneTape, OwnedTape):
            """Of all tapes only one that is Any fits this: of what has such a tape nothing is claimed."""

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
            """Type an operator of two tensors, or of a tensor and a number, by their tapes."""
