"""Types of `scan`: the step is checked with the type of the state and of an element of the sequence."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, NoReturn

from mypy.nodes import LambdaExpr
from mypy.types import AnyType, CallableType, Instance, NoneType, TupleType, Type, UnpackType, get_proper_type

from tapegrad.errors import messages
from tapegrad.mypy.conversion import (
    OWNED_TAPE,
    TENSOR,
    Many,
    dtype_name,
    is_tape,
    joined,
    merged_tape,
    shape_items,
    shape_type,
    tensor_parts,
    unknown,
)
from tapegrad.mypy.features.models import change_of, known_of_either
from tapegrad.mypy.mypy_api import Argument, make, silenced, tried_call
from tapegrad.mypy.reports import CODES
from tapegrad.sizes import UNKNOWN, is_unknown, surely_differ, surely_less

if TYPE_CHECKING:
    from collections.abc import Callable

    from mypy.errorcodes import ErrorCode
    from mypy.plugin import FunctionContext, FunctionSigContext

    from tapegrad.sizes import Size


class _RejectedError(Exception):
    """A call is rejected, with mypy's errors."""

    def __init__(self, *errors: tuple[str, ErrorCode | None]) -> None:
        super().__init__()
        self.errors = errors


def signature(ctx: FunctionSigContext) -> CallableType:
    """Return the signature of `scan` without its type variable, with the parameter types of a lambda as the step.

    mypy would infer the variable from the type that the result is expected to have, such as that of a bound variable.
    """
    declared = ctx.default_signature
    step, _, xs = declared.arg_types
    lambdas = [one for one in ctx.args[0] if isinstance(one, LambdaExpr)]
    if lambdas and ctx.args[1] and ctx.args[2]:
        with silenced(ctx.api), suppress(_RejectedError):
            given = [joined(ctx.api.get_expression_type(one[0])) for one in ctx.args[1:]]
            operands = _Scan(ctx, unknown(), *given).operands()
            called = get_proper_type(step)
            if isinstance(called, CallableType):
                step = called.copy_modified(arg_types=[*operands])
    pair = TupleType([unknown(), unknown()], make(ctx.api)("builtins.tuple", [unknown()]))
    return declared.copy_modified(arg_types=[step, unknown(), xs], ret_type=pair, variables=[])


def scanned(ctx: FunctionContext) -> Type:
    """Compute the type of a call of `scan`, and check it."""
    given = [joined(types[0]) for types in ctx.arg_types if types]
    if len(given) != 3:
        return ctx.default_return_type
    try:
        return _Scan(ctx, *given).result()
    except _RejectedError as rejected:
        for message, code in rejected.errors:
            ctx.api.fail(message, ctx.context, code=code)
        return ctx.default_return_type


class _Scan:
    """One call of `scan`, with the types of its arguments."""

    def __init__(self, ctx: FunctionContext | FunctionSigContext, step: Type, state: Type, xs: Type) -> None:
        self.ctx = ctx
        self.make = make(ctx.api)
        self.step, self.state, self.xs = step, state, xs

    def result(self) -> Type:
        """Return the types of the last state and of the stacked results.

        Raises:
            _RejectedError: The call is rejected.
        """
        count = self._count()
        state, element = self.operands()
        new, y = self._after(state, element)
        tapes = [_tape_of(one) for one in _leaves(new)]
        is_owned = any(is_tape(_tape_of(one), OWNED_TAPE) for one in _leaves(state))
        if any(is_tape(one, OWNED_TAPE) for one in tapes) and not is_owned:
            owned = self.make(OWNED_TAPE, [])  # the step has read a tensor with a tape, so the next state has it
            new, y = self._after(_mapped(state, lambda t: self._on(t, owned)), element)
        return TupleType([new, _mapped(y, lambda t: self._stacked(t, count))], self.make("builtins.tuple", [unknown()]))

    def operands(self) -> tuple[Type, Type]:
        """Return the types of the state and of an element, on the tape of all operands."""
        parts = [tensor_parts(one) for one in (*_leaves(self.state), *_leaves(self.xs))]
        tape = merged_tape(
            [one.tape for one in parts if one is not None and _is_float(one.dtype) is not False], self.make
        )
        state = _mapped(self.state, lambda t: self._on(t, tape))
        return state, _mapped(self.xs, lambda t: self._on(self._element(t), tape))

    def _after(self, state: Type, element: Type) -> tuple[Type, Type]:
        """Return the types of the state after a step, and of its result."""
        trial = tried_call(self.ctx.api, self.step, [Argument(state), Argument(element)], self.ctx.context)
        if trial.errors:
            raise _RejectedError(*trial.errors)
        p = get_proper_type(trial.result)
        if isinstance(p, TupleType) and not any(isinstance(one, UnpackType) for one in p.items):
            if len(p.items) == 2:
                return self._preserved(p.items[0], state, "the new state"), p.items[1]
            self._reject(f"step returns a tuple of {len(p.items)} but a state and a result are expected")
        elif (tensor := tensor_parts(p)) is not None and not isinstance(get_proper_type(tensor.dtype), AnyType):
            self._reject(f"step returns {dtype_name(tensor.dtype)} but a state and a result are expected")
        return _mapped(state, lambda t: self._with_tape(t, unknown())), unknown()

    def _preserved(self, new: Type, old: Type, place: str) -> Type:
        """Return the type of a state after a step, which must have the structure, shapes and dtypes of the old one."""
        p, q = get_proper_type(new), get_proper_type(old)
        if isinstance(p, AnyType) or isinstance(q, AnyType):
            return old if isinstance(p, AnyType) else new
        ours, theirs = _structure(p), _structure(q)
        if ours and theirs and ours != theirs:
            self._reject(f"{place} is {ours} but {theirs} is expected")
        if isinstance(p, TupleType) and isinstance(q, TupleType):
            pairs = enumerate(zip(p.items, q.items, strict=True))
            items = [self._preserved(one, other, f"{place}[{at}]") for at, (one, other) in pairs]
            return q.copy_modified(items=items)
        if tensor_parts(p) is None or tensor_parts(q) is None:
            return unknown()
        change = change_of(p, q, "scan", place)
        if change is not None:
            message, kind = change
            raise _RejectedError((message, CODES[kind]))
        return known_of_either(p, q, self.make)

    def _count(self) -> Size:
        """Return the number of steps."""
        first: tuple[str, Size] | None = None
        for place, t in _places(self.xs, "xs"):
            parts = tensor_parts(t)
            items = shape_items(parts.shape) if parts is not None else None
            if items == []:
                self._reject(f"{place} has shape () but needs an axis of steps", "shape")
            n = items[0] if items else None
            if items is None or n is None or isinstance(n, Many):
                continue
            if first is not None and surely_differ(n, first[1]):
                self._reject(f"{place} has {n} steps but {first[0]} has {first[1]}", "shape")
            if surely_less(n, 1):
                self._reject(f"{place} {messages.shown(items)} has no steps", "shape")
            if first is None or is_unknown(first[1]):
                first = place, n
        return UNKNOWN if first is None else first[1]

    def _element(self, t: Type) -> Type:
        items = self._items(t)
        if not items or isinstance(items[0], Many):
            return self._with_shape(t, None)
        return self._with_shape(t, items[1:])

    def _stacked(self, t: Type, count: Size) -> Type:
        items = self._items(t)
        return self._with_shape(t, None if items is None else [count, *items])

    def _items(self, t: Type) -> list[Size | Many] | None:
        parts = tensor_parts(t)
        return shape_items(parts.shape) if parts is not None else None

    def _with_shape(self, t: Type, items: list[Size | Many] | None) -> Type:
        parts = tensor_parts(t)
        return (
            unknown() if parts is None else self.make(TENSOR, [shape_type(items, self.make), parts.tape, parts.dtype])
        )

    def _with_tape(self, t: Type, tape: Type) -> Type:
        parts = tensor_parts(t)
        return unknown() if parts is None else self.make(TENSOR, [parts.shape, tape, parts.dtype])

    def _on(self, t: Type, tape: Type) -> Type:
        """Return a float tensor on a tape; an int stays as it is, and of an unknown dtype the tape is unknown."""
        parts = tensor_parts(t)
        is_float = _is_float(parts.dtype) if parts is not None else None
        if is_float is False:
            return t
        return self._with_tape(t, tape if is_float else unknown())

    def _reject(self, message: str, kind: str = "dtype") -> NoReturn:
        raise _RejectedError((f"scan: {message}", CODES[kind]))


def _is_float(dtype: Type) -> bool | None:
    """Return whether a dtype is a float; None if that is unknown."""
    p = get_proper_type(dtype)
    p = get_proper_type(getattr(p, "upper_bound", p))
    if not isinstance(p, Instance):
        return None
    if p.type.has_base("numpy.floating") or p.type.name == "bfloat16":
        return True
    return False if p.type.has_base("numpy.integer") or p.type.name == "bool" else None


def _tape_of(t: Type) -> Type:
    parts = tensor_parts(t)
    return unknown() if parts is None else parts.tape


def _leaves(t: Type) -> list[Type]:
    return [one for _, one in _places(t, "")]


def _places(t: Type, place: str) -> list[tuple[str, Type]]:
    """Return the types in nested tuples, with their places."""
    p = get_proper_type(t)
    if isinstance(p, TupleType) and not any(isinstance(one, UnpackType) for one in p.items):
        return [leaf for at, one in enumerate(p.items) for leaf in _places(one, f"{place}[{at}]")]
    return [(place, t)]


def _mapped(t: Type, change: Callable[[Type], Type]) -> Type:
    """Return nested tuples with another type for each tensor."""
    p = get_proper_type(t)
    if isinstance(p, TupleType) and not any(isinstance(one, UnpackType) for one in p.items):
        return p.copy_modified(items=[_mapped(one, change) for one in p.items])
    if isinstance(p, NoneType):
        return p
    return change(t) if tensor_parts(p) is not None else unknown()


def _structure(t: Type) -> str:
    """Return the structure of nested tuples, as `scan` writes it; empty if a part is unknown."""
    p = get_proper_type(t)
    if isinstance(p, TupleType):
        parts = [_structure(one) for one in p.items]
        return f"({', '.join(parts)}{',' * (len(parts) == 1)})" if all(parts) else ""
    return "a tensor" if tensor_parts(p) is not None else ""
