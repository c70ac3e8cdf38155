"""Overloads of operators and losses that give type checkers without the plugin the tape of a result.

To these checkers `Merge` is `Any`.

mypy does not use them: overloads would slow it down, and the plugin infers the tape.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias, TypeVar, overload

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Concatenate, ParamSpec

    import numpy as np

    from tapegrad.autograd.tape import NoneTape, OwnedTape
    from tapegrad.engines import Axis
    from tapegrad.tensors import T2, D, Float, Number, Real, T, Tensor

    P = ParamSpec("P")  # the options of a loss

    G = TypeVar("G", bound=np.generic, contravariant=True)  # the dtypes of a target
    N = TypeVar("N", contravariant=True)  # the numbers that an operator takes beside a tensor
    Whole = TypeVar("Whole", bound=np.integer[Any])

    _FloatNumber: TypeAlias = "float | Float | np.ndarray[Any, np.dtype[Float]]"
    _IntNumber: TypeAlias = "int | Whole | np.ndarray[Any, np.dtype[Whole]]"
    _BoolNumber: TypeAlias = "bool | np.bool_ | np.ndarray[Any, np.dtype[np.bool_]]"

F = TypeVar("F")

MYPY: Final = False  # mypy treats a condition of this name as true


def merging_loss(loss: F) -> F:
    """Return a loss; other checkers than mypy read the definition below, by which its tape is that of its operands."""
    return loss


def merging_loss_of_labels(loss: F) -> F:
    """Return a loss whose target may be labels, see `merging_loss`."""
    return loss


def summing(op: F) -> F:
    """Return the op `sum`; other checkers than mypy read the definition below, by which it counts bools as int64."""
    return op


def averaging(op: F) -> F:
    """Return the op `mean`, see `summing`: bools have a mean in float32."""
    return op


if TYPE_CHECKING:  # nested, because pyrefly does not evaluate a condition with `and`
    if not MYPY:

        class _Open(NoneTape, OwnedTape):
            """A type that only a tape of type Any matches; the tape of the result is then Any, too."""

        class OpenDType(np.floating[Any], np.integer[Any]):  # type: ignore[misc]  # no such dtype exists
            """A dtype that only one of type Any matches."""

        class _Bound(Protocol[T, D, N]):
            """An operator bound to its first operand, which takes a tensor of its dtype or a number."""

            @overload
            def __call__(self: _Bound[_Open, D, N], y: Tensor[Any, Any, D] | N, /) -> Tensor[Any, Any, D]: ...
            @overload
            def __call__(self: _Bound[OwnedTape, D, N], y: Tensor[Any, Any, D] | N, /) -> Tensor[Any, OwnedTape, D]: ...
            @overload
            def __call__(self, y: Tensor[Any, _Open, D], /) -> Tensor[Any, Any, D]: ...
            @overload
            def __call__(self, y: Tensor[Any, T | NoneTape, D] | N, /) -> Tensor[Any, T, D]: ...
            @overload
            def __call__(self, y: Tensor[Any, OwnedTape, D], /) -> Tensor[Any, OwnedTape, D]: ...
            @overload
            def __call__(self: _Bound[NoneTape, D, N], y: Tensor[Any, T2, D], /) -> Tensor[Any, T2, D]: ...
            @overload
            def __call__(self, y: Tensor[Any, Any, D], /) -> Tensor[Any, Any, D]: ...

        class _Untaped(Protocol[D, N]):
            """An operator without a gradient, bound to its first operand."""

            def __call__(self, y: Tensor[Any, Any, D] | N, /) -> Tensor[Any, NoneTape, D]: ...

        class _Compared(Protocol[D, N]):
            """A comparison bound to its first operand."""

            def __call__(self, y: Tensor[Any, Any, D] | N, /) -> Tensor[Any, NoneTape, np.bool_]: ...

        class _NotOfThisDType:
            """What an operator is for a dtype that it does not take: it cannot be called."""

        class _Callable:
            """What makes an operator match protocols, such as those of the arguments of `sum`."""

            def __call__(self, y: Any, /) -> Any: ...

        class _OfFloats(_Callable):
            """An operator of floats."""

            @overload
            def __get__(self, x: Tensor[Any, T, OpenDType], owner: Any) -> _Bound[T, Any, Number]: ...
            @overload
            def __get__(self, x: Tensor[Any, T, Float], owner: Any) -> _Bound[T, Float, _FloatNumber[Float]]: ...
            @overload
            def __get__(self, x: Tensor[Any, T, np.integer[Any] | np.bool_], owner: Any) -> _NotOfThisDType: ...
            @overload
            def __get__(self, x: Tensor[Any, T, D], owner: Any) -> _Bound[T, D, Number]: ...

        class _OfNumbers(_Callable):
            """An operator of floats and ints."""

            @overload
            def __get__(self, x: Tensor[Any, T, OpenDType], owner: Any) -> _Bound[T, Any, Number]: ...
            @overload
            def __get__(self, x: Tensor[Any, T, Float], owner: Any) -> _Bound[T, Float, _FloatNumber[Float]]: ...
            @overload
            def __get__(self, x: Tensor[Any, T, Whole], owner: Any) -> _Bound[T, Whole, _IntNumber[Whole]]: ...
            @overload
            def __get__(self, x: Tensor[Any, T, np.bool_], owner: Any) -> _NotOfThisDType: ...
            @overload
            def __get__(self, x: Tensor[Any, T, D], owner: Any) -> _Bound[T, D, Number]: ...

        class _OfAll(_Callable):
            """An operator of floats, ints and bools."""

            @overload
            def __get__(self, x: Tensor[Any, T, OpenDType], owner: Any) -> _Bound[T, Any, Number]: ...
            @overload
            def __get__(self, x: Tensor[Any, T, Float], owner: Any) -> _Bound[T, Float, _FloatNumber[Float]]: ...
            @overload
            def __get__(self, x: Tensor[Any, T, Whole], owner: Any) -> _Bound[T, Whole, _IntNumber[Whole]]: ...
            @overload
            def __get__(self, x: Tensor[Any, T, np.bool_], owner: Any) -> _Bound[T, np.bool_, _BoolNumber]: ...
            @overload
            def __get__(self, x: Tensor[Any, T, D], owner: Any) -> _Bound[T, D, Number]: ...

        class _OfTensors(_Callable):
            """An operator of tensors and arrays of any dtype."""

            @overload
            def __get__(
                self, x: Tensor[Any, T, OpenDType], owner: Any
            ) -> _Bound[T, Any, np.ndarray[Any, np.dtype[Any]]]: ...
            @overload
            def __get__(
                self, x: Tensor[Any, T, Float], owner: Any
            ) -> _Bound[T, Float, np.ndarray[Any, np.dtype[Float]]]: ...
            @overload
            def __get__(
                self, x: Tensor[Any, T, Whole], owner: Any
            ) -> _Bound[T, Whole, np.ndarray[Any, np.dtype[Whole]]]: ...
            @overload
            def __get__(
                self, x: Tensor[Any, T, np.bool_], owner: Any
            ) -> _Bound[T, np.bool_, np.ndarray[Any, np.dtype[np.bool_]]]: ...
            @overload
            def __get__(self, x: Tensor[Any, T, D], owner: Any) -> _Bound[T, D, np.ndarray[Any, np.dtype[D]]]: ...

        class _Quotient(_Callable):
            """A floor division, of floats and ints."""

            @overload
            def __get__(self, x: Tensor[Any, T, OpenDType], owner: Any) -> _Untaped[Any, Number]: ...
            @overload
            def __get__(self, x: Tensor[Any, T, Float], owner: Any) -> _Untaped[Float, _FloatNumber[Float]]: ...
            @overload
            def __get__(self, x: Tensor[Any, T, Whole], owner: Any) -> _Untaped[Whole, _IntNumber[Whole]]: ...
            @overload
            def __get__(self, x: Tensor[Any, T, np.bool_], owner: Any) -> _NotOfThisDType: ...
            @overload
            def __get__(self, x: Tensor[Any, T, D], owner: Any) -> _Untaped[D, Number]: ...

        class _OfBits(_Callable):
            """An operator of ints and bools."""

            @overload
            def __get__(self, x: Tensor[Any, T, OpenDType], owner: Any) -> _Untaped[Any, Number]: ...
            @overload
            def __get__(self, x: Tensor[Any, T, Whole], owner: Any) -> _Untaped[Whole, _IntNumber[Whole]]: ...
            @overload
            def __get__(self, x: Tensor[Any, T, np.bool_], owner: Any) -> _Untaped[np.bool_, _BoolNumber]: ...
            @overload
            def __get__(self, x: Tensor[Any, T, np.floating[Any]], owner: Any) -> _NotOfThisDType: ...
            @overload
            def __get__(self, x: Tensor[Any, T, D], owner: Any) -> _Untaped[D, Number]: ...

        class _OfInts(_Callable):
            """An operator of ints."""

            @overload
            def __get__(self, x: Tensor[Any, T, OpenDType], owner: Any) -> _Untaped[Any, Number]: ...
            @overload
            def __get__(self, x: Tensor[Any, T, Whole], owner: Any) -> _Untaped[Whole, _IntNumber[Whole]]: ...
            @overload
            def __get__(self, x: Tensor[Any, T, np.floating[Any] | np.bool_], owner: Any) -> _NotOfThisDType: ...
            @overload
            def __get__(self, x: Tensor[Any, T, D], owner: Any) -> _Untaped[D, Number]: ...

        class _Comparison:
            """A comparison of floats, ints and bools."""

            @overload
            def __get__(self, x: Tensor[Any, T, OpenDType], owner: Any) -> _Compared[Any, Number]: ...
            @overload
            def __get__(self, x: Tensor[Any, T, Float], owner: Any) -> _Compared[Float, _FloatNumber[Float]]: ...
            @overload
            def __get__(self, x: Tensor[Any, T, Whole], owner: Any) -> _Compared[Whole, _IntNumber[Whole]]: ...
            @overload
            def __get__(self, x: Tensor[Any, T, np.bool_], owner: Any) -> _Compared[np.bool_, _BoolNumber]: ...
            @overload
            def __get__(self, x: Tensor[Any, T, D], owner: Any) -> _Compared[D, Number]: ...

        def operator_of_floats(operator: Any) -> _OfFloats:
            """Infer the dtypes that an operator takes, and the tape of its result from those of its operands."""

        def operator_of_numbers(operator: Any) -> _OfNumbers:
            """Infer the tape and the dtypes of an operator of floats and ints, see `operator_of_floats`."""

        def operator_of_all(operator: Any) -> _OfAll:
            """Infer the tape and the dtypes of an operator of any dtype, see `operator_of_floats`."""

        def operator_of_tensors(operator: Any) -> _OfTensors:
            """Infer the tape and the dtypes of an operator that takes no numbers, see `operator_of_floats`."""

        def floor_division(operator: Any) -> _Quotient:
            """Infer the dtypes that a floor division takes, see `operator_of_floats`."""

        def operator_of_bits(operator: Any) -> _OfBits:
            """Infer the dtypes of an operator of ints and bools, see `operator_of_floats`."""

        def operator_of_ints(operator: Any) -> _OfInts:
            """Infer the dtypes of an operator of ints, see `operator_of_floats`."""

        def comparison(operator: Any) -> _Comparison:
            """Infer the dtypes that a comparison takes."""

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

        class _Sum(Protocol):
            @overload
            def __call__(
                self, x: Tensor[Any, T, OpenDType], axis: Axis = None, *, keepdims: bool = False
            ) -> Tensor[Any, T, Any]: ...
            @overload
            def __call__(
                self, x: Tensor[Any, Any, np.bool_], axis: Axis = None, *, keepdims: bool = False
            ) -> Tensor[Any, NoneTape, np.int64]: ...
            @overload
            def __call__(
                self, x: Tensor[Any, T, Real], axis: Axis = None, *, keepdims: bool = False
            ) -> Tensor[Any, T, Real]: ...

        class _Mean(Protocol):
            @overload
            def __call__(
                self, x: Tensor[Any, T, OpenDType], axis: Axis = None, *, keepdims: bool = False
            ) -> Tensor[Any, T, Any]: ...
            @overload
            def __call__(
                self, x: Tensor[Any, Any, np.bool_], axis: Axis = None, *, keepdims: bool = False
            ) -> Tensor[Any, NoneTape, np.float32]: ...
            @overload
            def __call__(
                self, x: Tensor[Any, T, Float], axis: Axis = None, *, keepdims: bool = False
            ) -> Tensor[Any, T, Float]: ...

        def summing(op: Any) -> _Sum:
            """Infer the dtype of a sum."""

        def averaging(op: Any) -> _Mean:
            """Infer the dtype of a mean."""
