"""The decorator `guarded`: a wrapper, compiled at the first call, checks each call against the annotations."""

from __future__ import annotations

import functools
import inspect
import re
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import InitVar, is_dataclass
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any, Final, TypeVar, get_args, get_origin, get_type_hints

import numpy as np

from tapegrad.errors import TapegradError
from tapegrad.errors.messages import RESULT, callee
from tapegrad.errors.tracebacks import trim_on_exit, trim_traceback
from tapegrad.guard._annotations import UnreadableError, read
from tapegrad.guard._checks import Anything, Check, kind_of
from tapegrad.guard._containers import DefaultCheck
from tapegrad.guard._facts import attach_facts
from tapegrad.guard._leftover import with_beartype
from tapegrad.guard._memory import class_of, store_sizes, stored_sizes, stored_sizes_of
from tapegrad.guard._mentions import mentions, names_for_checkers
from tapegrad.guard._names import Bindings, Scope, last_of, name_of
from tapegrad.guard._source import Parameters, short_form, wrapper_source
from tapegrad.sizes import UNKNOWN
from tapegrad.tensors.operands import is_concrete

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

    from tapegrad.sizes import Name

F = TypeVar("F", bound=Callable[..., Any])

_GENERATOR = inspect.CO_GENERATOR | inspect.CO_ASYNC_GENERATOR


def guarded(function: F) -> F:
    """Validate the arguments and result of a function against its annotations at run time, with mypy's messages.

    The shape, tape and dtype of tensors are checked. Within one call a type variable has one value, a size, a shape or
    a dtype, and a named size is at least 1; a parameter `n: N` binds one, too. Computed sizes such as `Add[N, L[1]]`
    are compared after all names are bound, and solved for a single unbound name. The tapes of one type variable are
    merged: a result annotated with it owns a tape if one of them does. The variables of a generic class are bound once
    per instance if its `__init__` is guarded, otherwise in each call; a variable without an argument there has the
    value of its default.

    Annotations other than tensors, sizes, plain classes and string literals are checked by beartype. A function with
    annotations of jaxtyping is `jaxtyped`: the `N` of `Float[ndarray, "N"]` is one of jaxtyping's own names, not a type
    variable `N`.

    The items of collections and mappings, the keys of a `TypedDict`, and the fields of named tuples and dataclasses are
    checked as well; the message names the item: `batch["image"]`. An iterator is not read.

    Annotations are resolved at the first call, so they may be strings and name objects defined later. Only the
    arguments of a generator are checked; of a coroutine the awaited result is checked, too. Python cannot distinguish
    `Tensor[S]` from `Tensor[S, Any]`, so either accepts any tape; nor a generic alias `Matrix` of yours from
    `Matrix[N, M]`, so either binds its names.

    Args:
        function: A function or method. `@guarded` is the innermost decorator, directly above `def` and under
            `@staticmethod`, `@classmethod` and `@property`. Or a dataclass, with `@guarded` above `@dataclass`: its
            fields are checked when an object is made.

    Returns:
        A function of the same name, signature and docstring, with the original as its `__wrapped__`. It raises
        `ShapeError`, `TapeError` or `DTypeError` if a call does not match, `ValueError` for a string that is not one of
        those that are expected, and `TypeError` if an annotation cannot be resolved or is invalid.

    Raises:
        TypeError: `function` is not a function.

    Examples:
        >>> from typing import Any, Literal
        >>> @tg.guarded
        ... def brightness(images: tg.Tensor[tuple[int, Literal[64]], Any]) -> tg.Tensor[tuple[int], Any]:
        ...     return images.mean(axis=1)
        >>> brightness(tg.ones((32, 63)))
        Traceback (most recent call last):
            ...
        tapegrad.errors.ShapeError: brightness: images is (32, 63) but (?, 64) is expected: axis 1 is 63, not 64
    """
    if isinstance(function, type) and is_dataclass(function):
        checked: F = _guarded_dataclass(function, sys._getframe(1))
        return checked
    if not isinstance(function, FunctionType):
        kind = "a class" if isinstance(function, type) else kind_of(function)
        above = "; of a dataclass, put @guarded above @dataclass" if isinstance(function, type) else ""
        with trim_on_exit:
            raise TypeError(f"guarded: {getattr(function, '__name__', function)} is {kind}, not a function{above}")
    if is_guarded(function):  # by the import hook, which is less strict
        function = function.__wrapped__  # type: ignore[attr-defined]  # set on wrappers of `Guard`
    wrapper: F = Guard(function, mentioned(function, sys._getframe(1))).wrapper
    return wrapper


def _guarded_dataclass(cls: Any, frame: FrameType) -> Any:
    """Guard the `__init__` of a dataclass: the fields are checked when an object is made."""
    initializer = vars(cls).get("__init__")
    if isinstance(initializer, FunctionType) and not is_guarded(initializer):
        cls.__init__ = Guard(initializer, mentioned(initializer, frame), generated=True).wrapper
    return cls


def is_guarded(function: FunctionType) -> bool:
    """Return whether a function is a wrapper of `Guard`."""
    return isinstance(getattr(function.__globals__.get("_compiled"), "__self__", None), Guard)


def _compiled(*_: Any) -> Callable[..., Any]:
    raise NotImplementedError  # replaced in the globals of each wrapper


def _called(*args: Any, **kwargs: Any) -> Any:
    try:
        return _compiled(args, kwargs)(*args, **kwargs)
    except Exception as error:
        trim_traceback(error)
        raise


async def _called_async(*args: Any, **kwargs: Any) -> Any:
    try:
        return await _compiled(args, kwargs)(*args, **kwargs)
    except Exception as error:
        trim_traceback(error)
        raise


class Guard:
    """A guard: it compiles the wrapper of one function, and runs the full checks that explain a mismatch.

    Args:
        function: The function to guard.
        names: Local variables of enclosing scopes that its annotations mention.
        sparing: Whether to leave the function unchecked if its annotations turn out to name no tensor.
        generated: Whether it was generated from the fields of a class, so that a default may be a placeholder.
    """

    wrapper: Any  # a FunctionType, which mypy would bind as a method

    def __init__(
        self, function: FunctionType, names: Mapping[str, Any], *, sparing: bool = False, generated: bool = False
    ) -> None:
        self.function = function
        self.definition: Any = inspect.unwrap(function)
        self.call = callee(function.__qualname__)
        self.mentioned = names
        self.sparing = sparing
        self.generated = generated
        self.owner: type | None = None  # the class that defines it
        self.class_names: dict[Name, str] = {}
        self.checks: dict[str, Check] = {}
        self.type_variables: set[Any] = set()  # the type variables that the annotations name
        self.result: Check = Anything()
        stub = _called_async if inspect.iscoroutinefunction(function) else _called
        # Compiled at the first call, so that a module of a hundred guarded methods imports fast.
        self.wrapper = FunctionType(stub.__code__, {"_compiled": self.compiled, "trim_traceback": trim_traceback})
        functools.update_wrapper(self.wrapper, function)

    def compiled(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return the wrapper for its first call, after replacing its code by the compiled checks."""
        definition = self.definition
        parameters = Parameters(definition.__code__)
        first = [*args[:1], *(kwargs[name] for name in parameters.names[:1] if name in kwargs)]
        if not first and definition.__code__.co_argcount > len(definition.__defaults__ or ()):
            return self.function  # raises the TypeError for the missing argument
        self.owner = class_of(definition, first[0]) if first else None
        if parameters.takes_self(definition.__annotations__):
            self.class_names = {name_of(one): one.__name__ for one in getattr(self.owner, "__parameters__", ())}
        left = self._read(parameters)
        scope = Scope(frozenset(self.class_names))
        code = self._code(parameters, scope)
        self.wrapper.__globals__.update(
            scope.constants,
            __function=with_beartype(self.function, left) if left else self.function,
            __check_arguments=self.check_arguments,
            __check_result=self.check_result,
            __stored_sizes=stored_sizes_of(self.owner),
            __isinstance=isinstance,
            __issubclass=issubclass,
            __len=len,
            __int=int,
            __Exception=Exception,
            __trim_traceback=trim_traceback,
        )
        self.wrapper.__code__ = code
        self.wrapper.__defaults__, self.wrapper.__kwdefaults__ = definition.__defaults__, definition.__kwdefaults__
        self.mentioned = {}
        return self.wrapper

    def check_arguments(self, values: tuple[Any, ...]) -> Bindings:
        """Raise an error if an argument does not match, otherwise return the values of the names."""
        bound = Bindings(self.call, self._known(values))
        try:
            self._check(values, bound)
        except TapegradError as error:
            attach_facts(error, bound.call, dict(zip(self.checks, values, strict=True)), self._check)
            raise
        if self.owner and self.class_names and self._starts():
            store_sizes(values[0], self.owner, self._found(self.owner, bound))
        return bound

    def _check(self, values: tuple[Any, ...], bound: Bindings) -> None:
        for (name, check), value in zip(self.checks.items(), values, strict=True):
            check.check(value, name, bound)
        bound.finish()

    def _found(self, owner: type, bound: Bindings) -> dict[str, Any]:
        """Return the values of the class's variables; a size without an argument has the value of its default."""
        found = {label: bound.values[name][0] for name, label in self.class_names.items() if name in bound.values}
        found |= self.dtypes_of_self
        for one in getattr(owner, "__parameters__", ()):
            default = getattr(getattr(one, "__default__", None), "__name__", "")
            if one.__name__ in found:
                if (last := last_of(one)) is not None and found[one.__name__]:
                    found[last.__name__] = found[one.__name__][-1]
                continue
            if default in found:
                found[one.__name__] = found[default]
            elif one in self.type_variables and one.__bound__ is int:
                found[one.__name__] = None  # an unknown size
        return found

    @functools.cached_property
    def dtypes_of_self(self) -> dict[str, np.dtype[Any]]:
        """The dtypes that the annotation of `self` gives to variables of the class, such as its default."""
        declared = self.function.__annotations__.get("self")
        if declared is None:
            return {}
        variables = getattr(self.owner, "__parameters__", ())
        args = get_args(self._resolved("self", declared))
        defaults = [getattr(one, "__default__", None) for one in variables[len(args) :]]
        by_variable = zip(variables, [*args, *defaults], strict=True)
        return {one.__name__: np.dtype(given) for one, given in by_variable if _is_dtype(given)}

    def check_result(self, result: Any, bound: Bindings) -> Any:
        """Raise an error if a result does not match, otherwise return it."""
        bound.returning = True
        try:
            self.result.check(result, RESULT, bound)
            bound.finish()
        except TapegradError as error:
            attach_facts(error, bound.call, {RESULT: result})
            raise
        return result

    def _known(self, values: tuple[Any, ...]) -> dict[Name, Any]:
        if not self.owner or not self.class_names or self._starts():
            return {}
        known = stored_sizes(values[0], self.owner)
        return {
            name: UNKNOWN if known[label] is None else known[label]
            for name, label in self.class_names.items()
            if label in known
        }

    def _starts(self) -> bool:
        return self.function.__name__ == "__init__"

    def _read(self, parameters: Parameters) -> dict[str, Any]:
        """Convert annotations to checks, and return the annotations that are left to beartype."""
        hints = self._hints()
        if self.sparing and not self._concerns_tensors(hints):
            hints, self.class_names = {}, {}
        self.type_variables = {one for hint in hints.values() for one in (hint, *getattr(hint, "__parameters__", ()))}
        declared = {place: self._read_one(place, hint) for place, hint in hints.items()}
        left = {place: hint for place, hint in hints.items() if not declared[place].is_complete()}
        self.result = declared.pop("return", Anything())
        self.checks = {name: parameters.check(name, declared.get(name)) for name in parameters.names}
        for name, default in self._defaults_made_later():
            self.checks[name] = DefaultCheck(self.checks[name], default)
            left.pop(name, None)
        return left

    def _concerns_tensors(self, hints: dict[str, Any]) -> bool:
        if getattr(self.wrapper, "__no_type_check__", False):
            return False
        binds = bool(self._starts() and self.class_names) and any(
            isinstance(member, FunctionType) and is_guarded(member) and member.__wrapped__ is not self.function  # type: ignore[attr-defined]  # set on wrappers of `Guard`
            for member in vars(self.owner).values()
        )
        return binds or any(mentions(hint).tensor for hint in hints.values())

    def _defaults_made_later(self) -> Iterator[tuple[str, Any]]:
        if self.generated:
            for name, parameter in inspect.signature(self.definition).parameters.items():
                if parameter.default is not parameter.empty:
                    yield name, parameter.default

    def _read_one(self, place: str, hint: Any) -> Check:
        try:
            return read(hint)
        except UnreadableError as error:
            raise TypeError(f"{self.call}: the annotation of {_shown(place)} cannot be read: {error}") from None

    def _code(self, parameters: Parameters, scope: Scope) -> CodeType:
        awaits = "await " if inspect.iscoroutinefunction(self.function) else ""
        short = "" if self._starts() else short_form(parameters, self.checks, self.result, scope, awaits)
        # The file name starts like this module's, so that `where_called` skips the frame.
        module = compile(wrapper_source(parameters, awaits, short), f"{__file__} for {self.call}", "exec")
        return next(constant for constant in module.co_consts if isinstance(constant, CodeType))

    def _hints(self) -> dict[str, Any]:
        """Resolve the annotations, except that of `self` and that of a generator's result."""
        hints = dict(self.function.__annotations__)
        hints.pop("self", None)
        if self.definition.__code__.co_flags & _GENERATOR:
            hints.pop("return", None)
        resolved = {}
        for place, hint in hints.items():
            try:
                resolved[place] = self._resolved(place, hint)
            except TypeError:
                if not self.sparing or self._surely_names_tensor(hint):
                    raise
        return resolved

    def _resolved(self, place: str, hint: Any) -> Any:
        try:
            try:
                meant = self._evaluated(hint, {})
            except NameError:
                meant = self._evaluated(hint, self._for_checkers)
        except Exception as error:
            raise TypeError(f"{self.call}: the annotation of {_shown(place)} cannot be resolved: {error}") from error
        if isinstance(meant, InitVar):
            return meant.type
        return get_args(meant)[0] if get_origin(meant) is Final else meant

    def _evaluated(self, hint: Any, names: dict[str, Any]) -> Any:
        def annotated() -> None: ...

        annotated.__annotations__ = {"x": hint}
        return get_type_hints(annotated, self.definition.__globals__, names | self._locals(), include_extras=True)["x"]

    def _surely_names_tensor(self, hint: Any) -> bool:
        return mentions(hint, self._locals(), self.definition.__globals__, self._for_checkers).tensor

    @functools.cached_property
    def _for_checkers(self) -> dict[str, Any]:
        return names_for_checkers(self.definition.__globals__)

    def _locals(self) -> dict[str, Any]:
        definition = self.definition
        variables = [*getattr(self.owner, "__type_params__", ()), *getattr(definition, "__type_params__", ())]
        free = {}
        for name, cell in zip(definition.__code__.co_freevars, definition.__closure__ or (), strict=True):
            with suppress(ValueError):  # an empty cell: the variable is not assigned yet
                free[name] = cell.cell_contents
        own = {self.owner.__name__: self.owner} if self.owner else {}
        return {**own, **self.mentioned, **free, **{variable.__name__: variable for variable in variables}}


def mentioned(function: FunctionType, frame: FrameType | None) -> dict[str, Any]:
    """Return local variables around a definition that its annotations may name; they are gone at the first call."""
    found: dict[str, Any] = {}
    if frame and frame.f_locals is frame.f_globals:
        return found
    with suppress(NameError):  # Python 3.14 evaluates annotations here and finds local variables itself
        words = set(re.findall(r"\w+", " ".join(map(str, function.__annotations__.values()))))
        while frame and frame.f_locals is not frame.f_globals:
            found = {name: value for name, value in frame.f_locals.items() if name in words} | found
            # A class body runs inside its enclosing scope; a function may run anywhere.
            frame = None if frame.f_code.co_flags & inspect.CO_NEWLOCALS else frame.f_back
    return found


def _is_dtype(argument: Any) -> bool:
    return isinstance(argument, type) and issubclass(argument, np.generic) and is_concrete(argument)


def _shown(place: str) -> str:
    return RESULT if place == "return" else place
