"""The table of ops: the shape rule, the function and the operands of each."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

import numpy as np

if TYPE_CHECKING:
    from types import CodeType

Rule = Callable[..., Any]  # returns the result's sizes; a tuple of sizes if the op returns several tensors
MemoryBound = bool | Callable[..., bool]


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
    of_bools: str = ""  # the dtype of the result for bools, if it is not that of the operand

    def sizes(self, *args: Any, **kwargs: Any) -> Any:
        """Return the rule's result for a call: operands are passed as shapes, all other arguments unchanged.

        An optional operand that is None, such as a bias, is not passed.
        """
        if kwargs or len(args) != len(self.alone):
            given = signature_of(self.function).bind(*args, **kwargs).arguments
        else:  # without `bind`: most calls of an eager op
            given = dict(zip(self.alone, args, strict=True))
        return self.rule(
            **{
                name: _sizes(value, many=name in self.sequences) if name in self.operands else value
                for name, value in given.items()
                if name in self.parameters and not self.is_left_out(name, value)
            }
        )

    def is_left_out(self, name: str, value: Any) -> bool:
        """Return whether a call has no operand of this name: it is optional, and None."""
        return value is None and name in self.operands and name not in self.alone


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


class Observer(Protocol):
    """The interface of a test tool that follows which ops run and which rules are checked."""

    def called(self, entry: Op, args: Sequence[Any], kwargs: Mapping[str, Any], outcome: object) -> None:
        """Receive a call of an op that no other op made, and its result or its error."""

    def rule_checked(self, rule: Callable[..., Any]) -> None:
        """Receive a rule, or an op, that `testing.check_shape_rule` was called with."""


observers: Final[list[Observer]] = []
"""Called for each call of an op while results are compared with rules, that is, in tests."""

OPS: dict[str, Op] = {}
IMPLEMENTATIONS: dict[str, Callable[..., Any]] = {}
NUMBERS = (bool, int, float)


@functools.cache  # an eager op needs it in each call (benchmarks/devices.py, "signatures")
def signature_of(function: Callable[..., Any]) -> inspect.Signature:
    """Return the signature of an op."""
    return inspect.signature(function)


def key_of(function: Callable[..., Any]) -> str:
    """Return the key of an op in the tables: the library's ops have their name, others their module's name as well."""
    module, name = function.__module__ or "", function.__name__  # None where `exec` ran the file without a name
    return name if module.startswith("tapegrad.") else f"{module}.{name}"


def _sizes(value: Any, *, many: bool) -> Any:
    if many:
        return tuple(shape_of(one) for one in value)
    return () if isinstance(value, NUMBERS) else shape_of(value)


def shape_of(value: Any) -> Any:
    """Return the shape of a tensor, whose values may be on devices of other processes; or that of nested lists."""
    return value.shape if hasattr(value, "tape") else np.shape(value)


def entry_of(
    rule: Rule,
    function: Callable[..., Any],
    operator: str | None,
    memory_bound: MemoryBound,
    dtypes: Rule | None,
    of_bools: str = "",
) -> Op:
    """Return the entry of an op in the table.

    Raises:
        TypeError: The rule has a parameter that the op does not have, or another order.
    """
    ours, theirs = parameters_of(rule), parameters_of(function)
    if ours != tuple(name for name in theirs if name in ours):
        message = f"{function.__name__}: its rule has the parameters {list(ours)}, the op has {list(theirs)}"
        raise TypeError(message)
    annotations = {name: str(function.__annotations__.get(name)) for name in theirs}
    operands = frozenset(name for name, annotation in annotations.items() if "Tensor" in annotation)
    star = star_of(function)
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
        of_bools=of_bools,
    )


def parameters_of(function: Callable[..., Any]) -> tuple[str, ...]:
    """Return the names of the parameters of a function, those of the function under a guard."""
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
    return parameters_of(function)[: _code(function).co_argcount - len(defaults)]


def star_of(function: Callable[..., Any]) -> str:
    """Return the variadic parameter, which is the last of the parameter names, or an empty string."""
    return parameters_of(function)[-1] if _code(function).co_flags & inspect.CO_VARARGS else ""
