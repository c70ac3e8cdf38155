"""Overloads that give type checkers without the plugin the tape of a result, its dtype, and a shape that is certain.

To these checkers `Merge` is `Any`.

mypy does not use them: overloads would slow it down, and the plugin infers the tape.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal, Never, Protocol, TypeAlias, TypeVar, overload

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Concatenate, ParamSpec

    import numpy as np

    from tapegrad.autograd.tape import NoneTape, OwnedTape
    from tapegrad.engines import Axis
    from tapegrad.tensors import T2, D, Float, Real, S, T, Tensor

    P = ParamSpec("P")  # the options of a loss

    G = TypeVar("G", bound=np.generic, contravariant=True)  # the dtypes of a target
    N = TypeVar("N", contravariant=True)  # the numbers that an operator takes beside a tensor
    A = TypeVar("A", contravariant=True)  # the arrays that it takes
    Whole = TypeVar("Whole", bound=np.integer[Any])

    _AnyNumber: TypeAlias = "float | np.generic"
    _FloatNumber: TypeAlias = "float | Float"
    _IntNumber: TypeAlias = "int | Whole"
    _BoolNumber: TypeAlias = "bool | np.bool_"
    _OneNumber: TypeAlias = 'Literal["mean", "sum"]'  # of the reductions
    _Array: TypeAlias = "np.ndarray[Any, np.dtype[D]]"

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

        class _Bound(Protocol[S, T, D, N, A]):
            """An operator bound to its first operand, which takes a tensor of its dtype or a number."""

            @overload
            def __call__(self, y: N, /) -> Tensor[S, T, D]: ...
            @overload
            def __call__(self: _Bound[S, _Open, D, N, A], y: Tensor[Any, Any, D] | A, /) -> Tensor[Any, Any, D]: ...
            @overload
            def __call__(
                self: _Bound[S, OwnedTape, D, N, A], y: Tensor[Any, Any, D] | A, /
            ) -> Tensor[Any, OwnedTape, D]: ...
            @overload
            def __call__(self, y: Tensor[Any, _Open, D], /) -> Tensor[Any, Any, D]: ...
            @overload
            def __call__(self, y: Tensor[Any, T | NoneTape, D] | A, /) -> Tensor[Any, T, D]: ...
            @overload
            def __call__(self, y: Tensor[Any, OwnedTape, D], /) -> Tensor[Any, OwnedTape, D]: ...
            @overload
            def __call__(self: _Bound[S, NoneTape, D, N, A], y: Tensor[Any, T2, D], /) -> Tensor[Any, T2, D]: ...
            @overload
            def __call__(self, y: Tensor[Any, Any, D], /) -> Tensor[Any, Any, D]: ...

        class _Untaped(Protocol[S, D, N, A]):
            """An operator without a gradient, bound to its first operand."""

            @overload
            def __call__(self, y: N, /) -> Tensor[S, NoneTape, D]: ...
            @overload
            def __call__(self, y: Tensor[Any, Any, D] | A, /) -> Tensor[Any, NoneTape, D]: ...

        class _Compared(Protocol[S, D, N, A]):
            """A comparison bound to its first operand."""

            @overload
            def __call__(self, y: N, /) -> Tensor[S, NoneTape, np.bool_]: ...
            @overload
            def __call__(self, y: Tensor[Any, Any, D] | A, /) -> Tensor[Any, NoneTape, np.bool_]: ...

        class _NotOfThisDType:
            """What an operator is for a dtype that it does not take: it cannot be called."""

        class _Callable:
            """What makes an operator match protocols, such as those of the arguments of `sum`."""

            def __call__(self, y: Any, /) -> Any: ...

        class _OfFloats(_Callable):
            """An operator of floats."""

            @overload
            def __get__(self, x: Tensor[S, T, OpenDType], owner: Any) -> _Bound[S, T, Any, _AnyNumber, _Array[Any]]: ...
            @overload
            def __get__(
                self, x: Tensor[S, T, Float], owner: Any
            ) -> _Bound[S, T, Float, _FloatNumber[Float], _Array[Float]]: ...
            @overload
            def __get__(self, x: Tensor[Any, Any, np.integer[Any] | np.bool_], owner: Any) -> _NotOfThisDType: ...
            @overload
            def __get__(self, x: Tensor[S, T, D], owner: Any) -> _Bound[S, T, D, _AnyNumber, _Array[Any]]: ...

        class _OfNumbers(_Callable):
            """An operator of floats and ints."""

            @overload
            def __get__(self, x: Tensor[S, T, OpenDType], owner: Any) -> _Bound[S, T, Any, _AnyNumber, _Array[Any]]: ...
            @overload
            def __get__(
                self, x: Tensor[S, T, Float], owner: Any
            ) -> _Bound[S, T, Float, _FloatNumber[Float], _Array[Float]]: ...
            @overload
            def __get__(
                self, x: Tensor[S, T, Whole], owner: Any
            ) -> _Bound[S, T, Whole, _IntNumber[Whole], _Array[Whole]]: ...
            @overload
            def __get__(self, x: Tensor[Any, Any, np.bool_], owner: Any) -> _NotOfThisDType: ...
            @overload
            def __get__(self, x: Tensor[S, T, D], owner: Any) -> _Bound[S, T, D, _AnyNumber, _Array[Any]]: ...

        class _OfAll(_Callable):
            """An operator of floats, ints and bools."""

            @overload
            def __get__(self, x: Tensor[S, T, OpenDType], owner: Any) -> _Bound[S, T, Any, _AnyNumber, _Array[Any]]: ...
            @overload
            def __get__(
                self, x: Tensor[S, T, Float], owner: Any
            ) -> _Bound[S, T, Float, _FloatNumber[Float], _Array[Float]]: ...
            @overload
            def __get__(
                self, x: Tensor[S, T, Whole], owner: Any
            ) -> _Bound[S, T, Whole, _IntNumber[Whole], _Array[Whole]]: ...
            @overload
            def __get__(
                self, x: Tensor[S, T, np.bool_], owner: Any
            ) -> _Bound[S, T, np.bool_, _BoolNumber, _Array[np.bool_]]: ...
            @overload
            def __get__(self, x: Tensor[S, T, D], owner: Any) -> _Bound[S, T, D, _AnyNumber, _Array[Any]]: ...

        class _OfTensors(_Callable):
            """An operator of tensors and arrays of any dtype."""

            @overload
            def __get__(self, x: Tensor[S, T, OpenDType], owner: Any) -> _Bound[S, T, Any, Never, _Array[Any]]: ...
            @overload
            def __get__(self, x: Tensor[S, T, Float], owner: Any) -> _Bound[S, T, Float, Never, _Array[Float]]: ...
            @overload
            def __get__(self, x: Tensor[S, T, Whole], owner: Any) -> _Bound[S, T, Whole, Never, _Array[Whole]]: ...
            @overload
            def __get__(
                self, x: Tensor[S, T, np.bool_], owner: Any
            ) -> _Bound[S, T, np.bool_, Never, _Array[np.bool_]]: ...
            @overload
            def __get__(self, x: Tensor[S, T, D], owner: Any) -> _Bound[S, T, D, Never, _Array[D]]: ...

        class _Quotient(_Callable):
            """A floor division, of floats and ints."""

            @overload
            def __get__(self, x: Tensor[S, T, OpenDType], owner: Any) -> _Untaped[S, Any, _AnyNumber, _Array[Any]]: ...
            @overload
            def __get__(
                self, x: Tensor[S, T, Float], owner: Any
            ) -> _Untaped[S, Float, _FloatNumber[Float], _Array[Float]]: ...
            @overload
            def __get__(
                self, x: Tensor[S, T, Whole], owner: Any
            ) -> _Untaped[S, Whole, _IntNumber[Whole], _Array[Whole]]: ...
            @overload
            def __get__(self, x: Tensor[Any, Any, np.bool_], owner: Any) -> _NotOfThisDType: ...
            @overload
            def __get__(self, x: Tensor[S, T, D], owner: Any) -> _Untaped[S, D, _AnyNumber, _Array[Any]]: ...

        class _OfBits(_Callable):
            """An operator of ints and bools."""

            @overload
            def __get__(self, x: Tensor[S, T, OpenDType], owner: Any) -> _Untaped[S, Any, _AnyNumber, _Array[Any]]: ...
            @overload
            def __get__(
                self, x: Tensor[S, T, Whole], owner: Any
            ) -> _Untaped[S, Whole, _IntNumber[Whole], _Array[Whole]]: ...
            @overload
            def __get__(
                self, x: Tensor[S, T, np.bool_], owner: Any
            ) -> _Untaped[S, np.bool_, _BoolNumber, _Array[np.bool_]]: ...
            @overload
            def __get__(self, x: Tensor[Any, Any, np.floating[Any]], owner: Any) -> _NotOfThisDType: ...
            @overload
            def __get__(self, x: Tensor[S, T, D], owner: Any) -> _Untaped[S, D, _AnyNumber, _Array[Any]]: ...

        class _OfInts(_Callable):
            """An operator of ints."""

            @overload
            def __get__(self, x: Tensor[S, T, OpenDType], owner: Any) -> _Untaped[S, Any, _AnyNumber, _Array[Any]]: ...
            @overload
            def __get__(
                self, x: Tensor[S, T, Whole], owner: Any
            ) -> _Untaped[S, Whole, _IntNumber[Whole], _Array[Whole]]: ...
            @overload
            def __get__(self, x: Tensor[Any, Any, np.floating[Any] | np.bool_], owner: Any) -> _NotOfThisDType: ...
            @overload
            def __get__(self, x: Tensor[S, T, D], owner: Any) -> _Untaped[S, D, _AnyNumber, _Array[Any]]: ...

        class _Comparison:
            """A comparison of floats, ints and bools."""

            @overload
            def __get__(self, x: Tensor[S, T, OpenDType], owner: Any) -> _Compared[S, Any, _AnyNumber, _Array[Any]]: ...
            @overload
            def __get__(
                self, x: Tensor[S, T, Float], owner: Any
            ) -> _Compared[S, Float, _FloatNumber[Float], _Array[Float]]: ...
            @overload
            def __get__(
                self, x: Tensor[S, T, Whole], owner: Any
            ) -> _Compared[S, Whole, _IntNumber[Whole], _Array[Whole]]: ...
            @overload
            def __get__(
                self, x: Tensor[S, T, np.bool_], owner: Any
            ) -> _Compared[S, np.bool_, _BoolNumber, _Array[np.bool_]]: ...
            @overload
            def __get__(self, x: Tensor[S, T, D], owner: Any) -> _Compared[S, D, _AnyNumber, _Array[Any]]: ...

        class _Unary:
            """What makes an operator match protocols, such as that of the argument of `operator.neg`."""

            def __call__(self, /) -> Any: ...

        class _Sign(_Unary):
            """A sign of floats and ints."""

            @overload
            def __get__(self, x: Tensor[S, T, OpenDType], owner: Any) -> Callable[[], Tensor[S, T, Any]]: ...
            @overload
            def __get__(self, x: Tensor[Any, Any, np.bool_], owner: Any) -> _NotOfThisDType: ...
            @overload
            def __get__(self, x: Tensor[S, T, D], owner: Any) -> Callable[[], Tensor[S, T, D]]: ...

        class _Inverse(_Unary):
            """The inverse of ints and bools."""

            @overload
            def __get__(self, x: Tensor[S, Any, OpenDType], owner: Any) -> Callable[[], Tensor[S, NoneTape, Any]]: ...
            @overload
            def __get__(self, x: Tensor[Any, Any, np.floating[Any]], owner: Any) -> _NotOfThisDType: ...
            @overload
            def __get__(self, x: Tensor[S, Any, D], owner: Any) -> Callable[[], Tensor[S, NoneTape, D]]: ...

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

        def sign(operator: Any) -> _Sign:
            """Infer the dtypes that a sign takes."""

        def inverse(operator: Any) -> _Inverse:
            """Infer the dtypes that `~` takes."""

        class _Loss(Protocol[G, P]):
            @overload  # options of type Any match Never, and may be those of a loss of each element
            def __call__(
                self, x: Tensor[Any, Any, Float], target: Tensor[Any, Any, G], *, reduction: Never, **options: Any
            ) -> Tensor[Any, Any, Float]: ...
            @overload
            def __call__(
                self, x: Tensor[Any, _Open, Float], target: Tensor[Any, Any, G], *, reduction: _OneNumber = ...
            ) -> Tensor[tuple[()], Any, Float]: ...
            @overload
            def __call__(
                self, x: Tensor[Any, OwnedTape, Float], target: Tensor[Any, Any, G], *, reduction: _OneNumber = ...
            ) -> Tensor[tuple[()], OwnedTape, Float]: ...
            @overload
            def __call__(
                self, x: Tensor[Any, Any, Float], target: Tensor[Any, _Open, G], *, reduction: _OneNumber = ...
            ) -> Tensor[tuple[()], Any, Float]: ...
            @overload
            def __call__(
                self, x: Tensor[Any, T, Float], target: Tensor[Any, NoneTape, G], *, reduction: _OneNumber = ...
            ) -> Tensor[tuple[()], T, Float]: ...
            @overload
            def __call__(
                self, x: Tensor[Any, Any, Float], target: Tensor[Any, OwnedTape, G], *, reduction: _OneNumber = ...
            ) -> Tensor[tuple[()], OwnedTape, Float]: ...
            @overload
            def __call__(
                self, x: Tensor[Any, Any, Float], target: Tensor[Any, Any, G], *, reduction: _OneNumber = ...
            ) -> Tensor[tuple[()], Any, Float]: ...
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

        # An axis of type Any matches Never, and must not match None.
        class _Sum(Protocol):
            @overload
            def __call__(
                self, x: Tensor[Any, T, OpenDType], axis: Never, *, keepdims: bool = False
            ) -> Tensor[Any, T, Any]: ...
            @overload
            def __call__(
                self, x: Tensor[Any, Any, np.bool_], axis: Never, *, keepdims: bool = False
            ) -> Tensor[Any, NoneTape, np.int64]: ...
            @overload
            def __call__(
                self, x: Tensor[Any, T, Real], axis: Never, *, keepdims: bool = False
            ) -> Tensor[Any, T, Real]: ...
            @overload
            def __call__(self, x: Tensor[Any, T, OpenDType], axis: None = None) -> Tensor[tuple[()], T, Any]: ...
            @overload
            def __call__(
                self, x: Tensor[Any, Any, np.bool_], axis: None = None
            ) -> Tensor[tuple[()], NoneTape, np.int64]: ...
            @overload
            def __call__(self, x: Tensor[Any, T, Real], axis: None = None) -> Tensor[tuple[()], T, Real]: ...
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
                self, x: Tensor[Any, T, OpenDType], axis: Never, *, keepdims: bool = False
            ) -> Tensor[Any, T, Any]: ...
            @overload
            def __call__(
                self, x: Tensor[Any, Any, np.bool_], axis: Never, *, keepdims: bool = False
            ) -> Tensor[Any, NoneTape, np.float32]: ...
            @overload
            def __call__(
                self, x: Tensor[Any, T, Float], axis: Never, *, keepdims: bool = False
            ) -> Tensor[Any, T, Float]: ...
            @overload
            def __call__(self, x: Tensor[Any, T, OpenDType], axis: None = None) -> Tensor[tuple[()], T, Any]: ...
            @overload
            def __call__(
                self, x: Tensor[Any, Any, np.bool_], axis: None = None
            ) -> Tensor[tuple[()], NoneTape, np.float32]: ...
            @overload
            def __call__(self, x: Tensor[Any, T, Float], axis: None = None) -> Tensor[tuple[()], T, Float]: ...
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
