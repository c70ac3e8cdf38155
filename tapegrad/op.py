"""Binds a shape rule to an op and enters both into the table that methods and the checker look up."""

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

from tapegrad import messages
from tapegrad.diagram import Watch, point_out
from tapegrad.dims import Dims, is_int, show, surely_differ
from tapegrad.errors import DTypeError, ShapeError, SingularError, TapeError, TapegradError
from tapegrad.tape import NONE
from tapegrad.tracebacks import trim_on_exit, trim_traceback

if TYPE_CHECKING:
    from types import CodeType

Rule = Callable[..., Any]  # to sizes; to a tuple of them where an op gives several tensors
MemoryBound = bool | Callable[..., bool]
F = TypeVar("F", bound=Callable[..., Any])
C = TypeVar("C", bound=type)


@dataclass(frozen=True, slots=True)
class Op:
    """An op by name: its rule from sizes to sizes, and which of its parameters the rule gets as sizes."""

    name: str
    rule: Rule
    function: Callable[..., Any]
    parameters: tuple[str, ...]  # of the rule
    operands: frozenset[str]
    sequences: frozenset[str]  # operands that are any number of tensors: of these the rule gets a tuple of shapes
    operator: str | None
    memory_bound: MemoryBound
    is_single: bool  # whether it gives one tensor, and the same one each time
    alone: tuple[str, ...]  # what a call must say, by position
    star: str = ""  # the sequence whose tensors a call lists one by one
    dtypes: Rule | None = None  # refuses operands by rank and dtype

    def sizes(self, *args: Any, **kwargs: Any) -> Any:
        """Return the rule's answer for a call: operands stand as their shapes, all else as it is."""
        if kwargs or len(args) != len(self.alone):
            given = _signature(self.function).bind(*args, **kwargs).arguments
        else:  # as most calls of an op are that asks its rule each time
            given = dict(zip(self.alone, args, strict=True))
        return self.rule(
            **{
                name: _sizes(value, many=name in self.sequences) if name in self.operands else value
                for name, value in given.items()
                if name in self.parameters
            }
        )


class Typed(NamedTuple):
    """What a dtype rule gets of an operand."""

    rank: int
    dtype: str

    @property
    def is_integer(self) -> bool:
        """Whether it holds whole numbers; bools are none."""
        return self.dtype.startswith(("int", "uint"))

    @property
    def is_float(self) -> bool:
        """Whether it holds floats."""
        return self.dtype.startswith(("float", "bfloat"))


class NoNumbersError(Exception):
    """A value was asked for numbers that it has not; for an op it knows another answer."""

    def answer(self, entry: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return what stands for the result of an op that could not be computed."""
        raise NotImplementedError


OPS: dict[str, Op] = {}
CALLS: dict[str, Callable[..., Any]] = {}
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
    """Make an op of a function: its errors speak with the rule's words, and the checker finds the rule by its name.

    The rule has the op's parameters; where the op is annotated with a tensor the rule gets its sizes. NumPy looks at
    the sizes first, and the rule explains its refusal. TAPEGRAD_CHECK_RULES=1 compares every result with its rule.

    Args:
        rule: From sizes to sizes; raises `ShapeError` with what comes after the op's name.
        operator: The operator that calls the op, such as `__matmul__`.
        eager: Whether the rule runs before the op, for where NumPy would stay silent.
        memory_bound: Whether the op costs little more than the memory of its result, so that a checkpointing tape may
            rather compute it again than save it; or a function that says so of a call, from the op's own arguments.
        dtypes: Raises `DTypeError` for what no annotation says, such as a dtype that hangs on a rank. It has some of
            the op's parameters and gets operands as `Typed`; the op asks it, and so does the checker.

    Returns:
        A decorator.

    Raises:
        TypeError: Rule and op differ in their parameters.
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
        OPS[key], CALLS[key] = entry, called
        if key == function.__name__:
            for kind in _OPERATED:
                _be_methods(kind, key, operator, called)
        return called  # type: ignore[return-value]  # wraps() keeps the signature, which mypy cannot see

    return bind


def operated(kind: C) -> C:
    """Let the operators and methods of a class be the ops themselves once they are there.

    So there is no look-up, a call less, and no frame between the caller and the op that refuses. A method that takes
    sizes one by one, as no op does, stays what it is.
    """
    _OPERATED.append(kind)
    return kind


def remembered(*, memory_bound: bool = False) -> Callable[[F], F]:
    """Let a checkpointing tape compute again what a part of an op gives, as it can what a whole op gives.

    Args:
        memory_bound: Whether the part costs little more than the memory of its result, see `op`.

    Returns:
        A decorator.
    """

    def bind(function: F) -> F:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            result = function(*args, **kwargs)
            if result.tape is not NONE and result.tape._tape.checkpoint is not None:
                result.tape._tape.checkpoint.remember(result, function, args, kwargs, memory_bound=memory_bound)
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


@functools.cache  # an eager op asks at each call, and reading the annotations takes ten times as long as the rule
def _signature(function: Callable[..., Any]) -> inspect.Signature:
    return inspect.signature(function)


def _key(function: Callable[..., Any]) -> str:
    """Return what an op goes by in the tables: methods call the library's by name, so no other is in their way."""
    module, name = function.__module__ or "", function.__name__  # None where `exec` ran the file without a name
    return name if module.startswith("tapegrad.") else f"{module}.{name}"


def _sizes(value: Any, *, many: bool) -> Any:
    if many:
        return tuple(np.shape(_data(one)) for one in value)
    return () if isinstance(value, _NUMBERS) else np.shape(_data(value))


def _calling(function: Callable[..., Any], entry: Op) -> Callable[..., Any]:
    """Return what calls an op and explains its errors; of one or two operands alone, without packing them up."""

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
    """Tell a checkpointing tape how to compute what it has just recorded."""
    given = entry.memory_bound
    memory_bound = given if isinstance(given, bool) else given(*args, **kwargs)
    result.tape._tape.checkpoint.remember(result, entry.function, args, kwargs, memory_bound=memory_bound)


def _explain(entry: Op, args: tuple[Any, ...], kwargs: dict[str, Any], error: Exception) -> Any:
    """Raise what the rule says of an error; of a value without numbers, or if one vanished, it returns the answer."""
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
        del explained, error  # a frame that holds its own error is a cycle, and keeps the operands


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
    unwrapped: Any = inspect.unwrap(function)  # under a guard it would be the wrapper's
    code: CodeType = unwrapped.__code__
    return code


def _required(function: Callable[..., Any]) -> tuple[str, ...]:
    defaults: tuple[Any, ...] = getattr(inspect.unwrap(function), "__defaults__", None) or ()
    return _parameters(function)[: _code(function).co_argcount - len(defaults)]


def _star(function: Callable[..., Any]) -> str:
    """Return the parameter that is written with a star; it comes last among the names of the code."""
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
    """Call an op again where underflow is an error, for 0 is what is meant; to say so each time would cost 1 µs."""
    if np.geterr()["under"] != "raise":
        raise error from None
    with np.errstate(under="ignore"):
        return CALLS[_key(entry.function)](*args, **kwargs)


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
        return error  # the call does not fit the signature: Python's own words are the right ones
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
    """Return which result of an op would have more bytes than can be counted, if one would; NumPy counts no 0."""
    shapes = sizes if sizes and isinstance(sizes[0], tuple) else (sizes,)
    return next((shape for shape in shapes if prod(max(n, 1) for n in shape) > _LARGEST), None)


def _named(entry: Op, error: Exception, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Exception:
    """Return an error that speaks of an op by its name, and knows what it was given."""
    message = str(error)  # in which a guard under the op has named it
    message = message if message.startswith(f"{entry.name}: ") else f"{entry.name}: {message}"
    named = error.with_message(message) if isinstance(error, TapegradError) else type(error)(message)
    vars(named)["op"] = entry.name  # the message is complete: an op around this one leaves it alone
    if isinstance(named, TapegradError):
        with suppress(Exception):  # the error is on its way to the user, and no other must come before it
            _inform(named, entry, _signature(entry.function).bind(*args, **kwargs).arguments)
    return named


def _of_kinds(entry: Op, error: Exception, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Exception:
    """Return what comes before an error that something of no shape has caused: it is of another kind."""
    if isinstance(error, ShapeError) or type(error) in (TypeError, AttributeError):
        with suppress(TypeError):  # the call does not fit the signature
            for message in _of_other_kinds(entry, _signature(entry.function).bind(*args, **kwargs).arguments):
                return DTypeError(message)
    return error


def _has_no_shape(entry: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Return whether an operand is no tensor and no number, so that a rule must not be asked about its length."""
    with suppress(TypeError):  # the call does not fit the signature
        return any(_of_other_kinds(entry, _signature(entry.function).bind(*args, **kwargs).arguments))
    return False


def _of_other_kinds(entry: Op, arguments: dict[str, Any]) -> Iterator[str]:
    """Say which arguments are of another kind than their annotation: no tensor, no int, no string."""
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


def _inform(error: TapegradError, entry: Op, arguments: dict[str, Any]) -> None:
    """Tell an error what the op was given, and which sizes of it its rule found to clash."""
    given = _operands(entry, arguments)
    error.shapes = {name: tuple(x.shape) for name, x in given.items()}
    error.dtypes = {name: str(x.dtype) for name, x in given.items()}
    error.taped = {name: x.tape.owns for name, x in given.items() if hasattr(x, "tape")}
    if isinstance(error, ShapeError):
        watch = Watch()
        watched = {name: watch.sizes(name, shape) for name, shape in error.shapes.items()}
        with suppress(ShapeError):
            entry.rule(
                **{
                    name: _watched(name, value, watched) if name in entry.operands else value
                    for name, value in arguments.items()
                    if name in entry.parameters
                }
            )
        point_out(error, watch)


def _operands(entry: Op, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the tensors and arrays that an op was given, by parameter; of several in one `tensors[1]`."""
    found: dict[str, Any] = {}
    for name, value in arguments.items():
        if name in entry.sequences:
            found |= {f"{name}[{position}]": one for position, one in enumerate(value) if hasattr(one, "shape")}
        elif name in entry.operands and hasattr(value, "shape"):
            found[name] = value
    return found


def _watched(name: str, value: Any, watched: dict[str, Any]) -> Any:
    """Return what stands for an operand: its watched sizes, or those of each of several; a number has none."""
    if f"{name}[0]" in watched:
        return tuple(watched.get(f"{name}[{position}]", ()) for position in range(len(value)))
    return watched.get(name, np.shape(_data(value)))
