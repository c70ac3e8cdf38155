"""The decorator `op`: it binds a shape rule to an op and registers both for methods and the type checker."""

from __future__ import annotations

import functools
import inspect
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from tapegrad.autograd.tape import NONE
from tapegrad.errors import DTypeError, ShapeError, SingularError, TapeError, TapegradError, messages
from tapegrad.errors.diagram import AxisTracker, annotate_axes
from tapegrad.errors.tracebacks import trim_on_exit, trim_traceback
from tapegrad.sizes import Dims, is_int, show, surely_differ

if TYPE_CHECKING:
    from types import CodeType

Rule = Callable[..., Any]  # returns the result's sizes; a tuple of sizes if the op returns several tensors
MemoryBound = bool | Callable[..., bool]
F = TypeVar("F", bound=Callable[..., Any])
C = TypeVar("C", bound=type)


@dataclass(frozen=True, slots=True)
class Op:
    """A registered op: its shape rule, and which parameters are passed to the rule as sizes."""

    name: str
    rule: Rule
    function: Callable[..., Any]
    parameters: tuple[str, ...]  # of the rule
    operands: frozenset[str]
    sequences: frozenset[str]  # operands that are any number of tensors: the rule gets a tuple of shapes
    operator: str | None
    memory_bound: MemoryBound
    is_single: bool  # whether it returns one tensor and is deterministic
    alone: tuple[str, ...]  # required positional parameters
    star: str = ""  # the variadic parameter, `*tensors`
    dtypes: Rule | None = None  # raises DTypeError by rank and dtype of the operands

    def sizes(self, *args: Any, **kwargs: Any) -> Any:
        """Return the rule's result for a call: operands are passed as shapes, all other arguments unchanged."""
        if kwargs or len(args) != len(self.alone):
            given = _signature(self.function).bind(*args, **kwargs).arguments
        else:  # without `bind`: most calls of an eager op
            given = dict(zip(self.alone, args, strict=True))
        return self.rule(
            **{
                name: _sizes(value, many=name in self.sequences) if name in self.operands else value
                for name, value in given.items()
                if name in self.parameters
            }
        )


class Typed(NamedTuple):
    """The rank and dtype of an operand, as a dtype rule gets it."""

    rank: int
    dtype: str

    @property
    def is_integer(self) -> bool:
        """Whether the dtype is an integer type, which bool is not."""
        return self.dtype.startswith(("int", "uint"))

    @property
    def is_float(self) -> bool:
        """Whether the dtype is a float type."""
        return self.dtype.startswith(("float", "bfloat"))


class NoNumbersError(Exception):
    """The values of a tensor were requested where it has none; for an op, `answer` replaces the result."""

    def answer(self, entry: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return a replacement for the result of an op that could not be computed."""
        raise NotImplementedError


OPS: dict[str, Op] = {}
IMPLEMENTATIONS: dict[str, Callable[..., Any]] = {}
_OPERATED: list[type] = []
_NUMBERS = (bool, int, float)

EXPLAINED = (
    ValueError,
    TypeError,
    AttributeError,
    IndexError,
    OverflowError,
    FloatingPointError,
    TapeError,
    NoNumbersError,
)
_LARGEST = sys.maxsize // 16  # elements, of any dtype
_OURS = (ShapeError, DTypeError, TapeError, SingularError, IndexError)
_CHECK_RULES = bool(os.environ.get("TAPEGRAD_CHECK_RULES"))


def op(
    rule: Rule,
    *,
    operator: str | None = None,
    eager: bool = False,
    memory_bound: MemoryBound = False,
    dtypes: Rule | None = None,
) -> Callable[[F], F]:
    """Register a function as an op: its shape rule explains its errors, and the checker infers shapes by the rule.

    The rule has the op's parameters; where the op is annotated with a tensor, the rule gets its sizes. NumPy computes
    first; if it raises, the rule is called to explain the error. With TAPEGRAD_CHECK_RULES=1 every result is compared
    with its rule.

    Args:
        rule: From sizes to sizes; raises `ShapeError` with the message without the op's name.
        operator: The operator that calls the op, such as `__matmul__`.
        eager: Whether the rule runs before the op, for ops where NumPy would not raise.
        memory_bound: Whether the op costs little more than the memory of its result, so that a checkpointing tape
            computes it again instead of saving it; or a predicate on the op's arguments.
        dtypes: Raises `DTypeError` for dtypes that annotations cannot express, such as one that depends on a rank. It
            has some of the op's parameters and gets operands as `Typed`; both the op and the checker call it.

    Returns:
        A decorator.

    Raises:
        TypeError: The rule has a parameter that the op does not have, or another order.
    """

    def bind(function: F) -> F:
        entry = _entry(rule, function, operator, memory_bound, dtypes)

        call = _calling(function, entry)

        @functools.wraps(function)
        def checked(*args: Any, **kwargs: Any) -> Any:
            try:
                return _checked(entry, call, args, kwargs)
            except EXPLAINED as error:
                trim_traceback(error)
                raise

        called = checked if eager or _CHECK_RULES else call
        key = _key(function)
        OPS[key], IMPLEMENTATIONS[key] = entry, called
        if key == function.__name__:
            for kind in _OPERATED:
                _be_methods(kind, key, operator, called)
        return called  # type: ignore[return-value]  # wraps() keeps the signature, which mypy cannot see

    return bind


def install_operators(kind: C) -> C:
    """Replace the operators and methods of a class by the ops of the same name once these are registered.

    This saves a look-up and a call, and the traceback has no frame between the caller and the op. A variadic method,
    such as one that takes sizes one by one, is not replaced.
    """
    _OPERATED.append(kind)
    return kind


def rematerializable(*, memory_bound: bool = False) -> Callable[[F], F]:
    """Let a checkpointing tape recompute the result of a function that is a part of an op.

    Args:
        memory_bound: Whether the function costs little more than the memory of its result, see `op`.

    Returns:
        A decorator.
    """

    def bind(function: F) -> F:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            result = function(*args, **kwargs)
            if result.tape is not NONE and result.tape._tape.checkpoint is not None:
                result.tape._tape.checkpoint.register(result, function, args, kwargs, memory_bound=memory_bound)
            return result

        return call  # type: ignore[return-value]  # wraps() keeps the signature, which mypy cannot see

    return bind


def _be_methods(kind: type, name: str, operator: str | None, call: Callable[..., Any]) -> None:
    methods = {name: call}
    if operator is not None:
        methods |= {operator: call, f"__r{operator[2:]}": _reflected(call)}
    for attribute, method in methods.items():
        if attribute in vars(kind) and not _star(vars(kind)[attribute]):
            setattr(kind, attribute, method)


def _reflected(call: Callable[..., Any]) -> Callable[..., Any]:
    def reflected(y: Any, x: Any) -> Any:
        try:
            return call(x, y)
        except EXPLAINED as error:
            trim_traceback(error)
            raise

    return reflected


@functools.cache  # an eager op needs it in each call, and reading the annotations takes ten times as long as the rule
def _signature(function: Callable[..., Any]) -> inspect.Signature:
    return inspect.signature(function)


def _key(function: Callable[..., Any]) -> str:
    """Return the key of an op in the tables: the library's ops have their name, others their module's name as well."""
    module, name = function.__module__ or "", function.__name__  # None where `exec` ran the file without a name
    return name if module.startswith("tapegrad.") else f"{module}.{name}"


def _sizes(value: Any, *, many: bool) -> Any:
    if many:
        return tuple(np.shape(_data(one)) for one in value)
    return () if isinstance(value, _NUMBERS) else np.shape(_data(value))


def _calling(function: Callable[..., Any], entry: Op) -> Callable[..., Any]:
    """Return a function that calls an op and explains its errors; one or two operands are passed without `*args`."""

    def unary(x: Any) -> Any:
        try:
            result = function(x)
        except EXPLAINED as error:
            with trim_on_exit:
                return _explain(entry, (x,), {}, error)
        if result.tape is not NONE and result.tape._tape.checkpoint is not None:
            _remember(entry, result, (x,), {})
        return result

    def binary(x: Any, y: Any) -> Any:
        try:
            result = function(x, y)
        except EXPLAINED as error:
            with trim_on_exit:
                return _explain(entry, (x, y), {}, error)
        if result.tape is not NONE and result.tape._tape.checkpoint is not None:
            _remember(entry, result, (x, y), {})
        return result

    def general(*args: Any, **kwargs: Any) -> Any:
        try:
            result = function(*args, **kwargs)
        except EXPLAINED as error:
            with trim_on_exit:
                return _explain(entry, args, kwargs, error)
        if result.tape is not NONE and result.tape._tape.checkpoint is not None:
            _remember(entry, result, args, kwargs)
        return result

    def any_number(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except EXPLAINED as error:
            with trim_on_exit:
                return _explain(entry, args, kwargs, error)

    alone: dict[tuple[str, ...], Callable[..., Any]] = {("x",): unary, ("x", "y"): binary}
    called = alone.get(_parameters(function), general) if entry.is_single else any_number
    return functools.wraps(function)(called)


def _remember(entry: Op, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Tell a checkpointing tape how to recompute the result that it has just recorded."""
    given = entry.memory_bound
    memory_bound = given if isinstance(given, bool) else given(*args, **kwargs)
    result.tape._tape.checkpoint.register(result, entry.function, args, kwargs, memory_bound=memory_bound)


def _explain(entry: Op, args: tuple[Any, ...], kwargs: dict[str, Any], error: Exception) -> Any:
    """Raise the error with the rule's explanation; for missing values or an underflow, return a result instead."""
    if isinstance(error, NoNumbersError):
        return _answered(entry, args, kwargs, error)
    if isinstance(error, FloatingPointError):
        return _unless_vanished(entry, args, kwargs, error)
    explained = _explained(entry, args, kwargs, error)
    try:
        if explained is error:
            raise error
        raise explained from None
    finally:
        del explained, error  # a frame that refers to its own error is a cycle and keeps the operands alive


def _data(value: Any) -> Any:
    return value.data if hasattr(value, "tape") else value


def _entry(
    rule: Rule,
    function: Callable[..., Any],
    operator: str | None,
    memory_bound: MemoryBound,
    dtypes: Rule | None,
) -> Op:
    ours, theirs = _parameters(rule), _parameters(function)
    if ours != tuple(name for name in theirs if name in ours):
        message = f"{function.__name__}: its rule has the parameters {list(ours)}, the op has {list(theirs)}"
        raise TypeError(message)
    annotations = {name: str(function.__annotations__.get(name)) for name in theirs}
    operands = frozenset(name for name, annotation in annotations.items() if "Tensor" in annotation)
    star = _star(function)
    sequences = frozenset(
        name for name in operands if name == star or re.match(r"(\w+\.)*Sequence\[", annotations[name])
    )
    result = str(function.__annotations__.get("return"))
    return Op(
        name=function.__name__,
        rule=rule,
        function=function,
        parameters=ours,
        operands=operands,
        sequences=sequences,
        operator=operator,
        memory_bound=memory_bound,
        is_single=re.match(r"(\w+\.)*Tensor\[", result) is not None and "rng" not in theirs,
        alone=() if star else _required(function),
        star=star,
        dtypes=dtypes,
    )


def _parameters(function: Callable[..., Any]) -> tuple[str, ...]:
    code = _code(function)
    count = code.co_argcount + code.co_kwonlyargcount
    names: tuple[str, ...] = code.co_varnames[: count + bool(code.co_flags & inspect.CO_VARARGS)]
    return names


def _code(function: Callable[..., Any]) -> CodeType:
    unwrapped: Any = inspect.unwrap(function)  # the function under a guard, not the guard's wrapper
    code: CodeType = unwrapped.__code__
    return code


def _required(function: Callable[..., Any]) -> tuple[str, ...]:
    defaults: tuple[Any, ...] = getattr(inspect.unwrap(function), "__defaults__", None) or ()
    return _parameters(function)[: _code(function).co_argcount - len(defaults)]


def _star(function: Callable[..., Any]) -> str:
    """Return the variadic parameter, which is the last of the parameter names, or an empty string."""
    return _parameters(function)[-1] if _code(function).co_flags & inspect.CO_VARARGS else ""


def _checked(entry: Op, call: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    try:
        expected = entry.sizes(*args, **kwargs)
    except (AttributeError, OverflowError, TypeError, ShapeError) as error:
        raise _explained(entry, args, kwargs, error) from None
    result = call(*args, **kwargs)
    several = isinstance(result, tuple)
    given = [one.shape for one in result] if several else [result.shape]
    wanted: Any = expected if several else [expected]
    if len(given) != len(wanted) or any(map(_differ, given, wanted)):
        message = f"{entry.name} gave {', '.join(map(show, given))} but its rule says {', '.join(map(show, wanted))}"
        raise AssertionError(message)
    return result


def _differ(given: Dims, wanted: Dims) -> bool:
    return len(given) != len(wanted) or any(map(surely_differ, given, wanted))


def _answered(entry: Op, args: tuple[Any, ...], kwargs: dict[str, Any], missing: NoNumbersError) -> Any:
    try:
        return missing.answer(entry, args, kwargs)
    except ShapeError as error:
        raise _named(entry, error, args, kwargs) from None


def _unless_vanished(entry: Op, args: tuple[Any, ...], kwargs: dict[str, Any], error: FloatingPointError) -> Any:
    """Call an op again if underflow raised an error: 0 is the intended result. `errstate` in each call costs 1 µs."""
    if np.geterr()["under"] != "raise":
        raise error from None
    with np.errstate(under="ignore"):
        return IMPLEMENTATIONS[_key(entry.function)](*args, **kwargs)


def _explained(entry: Op, args: tuple[Any, ...], kwargs: dict[str, Any], error: Exception) -> Exception:
    kinds = _of_kinds(entry, error, args, kwargs)
    if kinds is not error:
        return _named(entry, kinds, args, kwargs)
    if getattr(error, "op", ""):
        return error
    if isinstance(error, DTypeError) and _has_no_shape(entry, args, kwargs):
        return _named(entry, error, args, kwargs)
    try:
        sizes = entry.sizes(*args, **kwargs)
    except (ShapeError, DTypeError) as by_rule:
        return _named(entry, by_rule, args, kwargs)
    except (AttributeError, IndexError, TypeError, ValueError):
        return error  # the call does not match the signature: Python's message is the right one
    except OverflowError:
        sizes = ()  # more results than can be counted
    if isinstance(error, _OURS):
        return _named(entry, error, args, kwargs)
    if (shape := _overflowing(sizes)) is not None:
        overflow: Exception = ShapeError(f"the result would be {show(shape)}, more than an array can hold")
        return _named(entry, overflow, args, kwargs)
    if isinstance(error, OverflowError):
        overflow = DTypeError(f"a number is too large for its dtype or its place ({error})")
        return _named(entry, overflow, args, kwargs)
    return error


def _overflowing(sizes: Any) -> Any:
    """Return the shape of a result that exceeds the largest array size, or None; as in NumPy, sizes of 0 count as 1."""
    shapes = sizes if sizes and isinstance(sizes[0], tuple) else (sizes,)
    return next((shape for shape in shapes if prod(max(n, 1) for n in shape) > _LARGEST), None)


def _named(entry: Op, error: Exception, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Exception:
    """Return an error that names the op and has the shapes, dtypes and tapes of its arguments."""
    message = str(error)  # a guard under the op has named it already
    message = message if message.startswith(f"{entry.name}: ") else f"{entry.name}: {message}"
    named = error.with_message(message) if isinstance(error, TapegradError) else type(error)(message)
    vars(named)["op"] = entry.name  # an outer op does not change an error that has an op
    if isinstance(named, TapegradError):
        with suppress(Exception):  # no other error may replace the one to be raised
            _attach_facts(named, entry, _signature(entry.function).bind(*args, **kwargs).arguments)
    return named


def _of_kinds(entry: Op, error: Exception, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Exception:
    """Return a DTypeError if an argument of the wrong type caused the error, otherwise the error itself."""
    if isinstance(error, ShapeError) or type(error) in (TypeError, AttributeError):
        with suppress(TypeError):  # the call does not match the signature
            for message in _of_other_kinds(entry, _signature(entry.function).bind(*args, **kwargs).arguments):
                return DTypeError(message)
    return error


def _has_no_shape(entry: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Return whether an argument has the wrong type, so that the rule must not be called with its length."""
    with suppress(TypeError):  # the call does not match the signature
        return any(_of_other_kinds(entry, _signature(entry.function).bind(*args, **kwargs).arguments))
    return False


def _of_other_kinds(entry: Op, arguments: dict[str, Any]) -> Iterator[str]:
    """Yield a message for each argument that is not of the annotated type: a tensor, int or string."""
    for name, value in arguments.items():
        asked, parameter = entry.function.__annotations__.get(name), _signature(entry.function).parameters[name]
        kind = messages.with_article(type(value).__name__)
        if value is parameter.default:
            continue
        if name in entry.sequences:
            if not hasattr(value, "__iter__"):
                yield f"{name} is {kind} but a sequence of tensors is expected"
        elif name in entry.operands:
            if not hasattr(value, "shape") and not isinstance(value, _NUMBERS):
                may_be_number = str(asked).endswith("| Number")
                yield (
                    messages.no_operand(messages.UNNAMED, kind) if may_be_number else f"{name} is {kind}, not a tensor"
                )
        elif asked in ("int", "Int") and not is_int(value):
            yield f"{name} is {kind} but an int is expected"
        elif asked == "Sizes" and not isinstance(value, tuple | list):
            yield f"{name} is {kind} but a tuple of ints is expected"
        elif asked == "Sizes" and not all(map(is_int, value)):
            yield f"{name} is {value!r} but a tuple of ints is expected"
        elif asked == "str" and not isinstance(value, str):
            yield f"{name} is {kind} but a string is expected"


def _attach_facts(error: TapegradError, entry: Op, arguments: dict[str, Any]) -> None:
    """Set the shapes, dtypes and tapes of an op's arguments on an error, and the axes that do not match."""
    given = _operands(entry, arguments)
    error.shapes = {name: tuple(x.shape) for name, x in given.items()}
    error.dtypes = {name: str(x.dtype) for name, x in given.items()}
    error.taped = {name: x.tape.owns for name, x in given.items() if hasattr(x, "tape")}
    if isinstance(error, ShapeError):
        watch = AxisTracker()
        watched = {name: watch.sizes(name, shape) for name, shape in error.shapes.items()}
        with suppress(ShapeError):
            entry.rule(
                **{
                    name: _watched(name, value, watched) if name in entry.operands else value
                    for name, value in arguments.items()
                    if name in entry.parameters
                }
            )
        annotate_axes(error, watch)


def _operands(entry: Op, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the tensor and array arguments of an op by parameter; those of a sequence by `tensors[1]`."""
    found: dict[str, Any] = {}
    for name, value in arguments.items():
        if name in entry.sequences:
            found |= {f"{name}[{position}]": one for position, one in enumerate(value) if hasattr(one, "shape")}
        elif name in entry.operands and hasattr(value, "shape"):
            found[name] = value
    return found


def _watched(name: str, value: Any, watched: dict[str, Any]) -> Any:
    """Return the tracked sizes of an operand, or those of each tensor in a sequence; a number has the shape ()."""
    if f"{name}[0]" in watched:
        return tuple(watched.get(f"{name}[{position}]", ()) for position in range(len(value)))
    return watched.get(name, np.shape(_data(value)))
