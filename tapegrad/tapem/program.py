"""Programs: computations on a tape as values, and the loop that runs them."""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Generator
from dataclasses import dataclass
from typing import Any, Generic, Never, ParamSpec, TypeAlias, overload

from typing_extensions import TypeVar, override

from tapegrad.errors import messages
from tapegrad.tapem.result import ERRORS, Err, Ok, Result
from tapegrad.tapem.tape import Tape

A = TypeVar("A")
B = TypeVar("B")
A_co = TypeVar("A_co", covariant=True)
P = ParamSpec("P")


class TapeM(ABC, Generic[A_co]):
    """A program: a function from a tape to a value and a longer tape, or an error.

    It is an immutable value: nothing happens until it is run, and runs are independent. In a generator under `do` it is
    run by `y = yield from program`, in an `async def` by `y = await program`. With mypy's `unused-awaitable` a program
    that is discarded, and so would never run, is an error.

    Examples:
        >>> x, tape = tg.tapem.leaf(tg.tensor([3.0, 4.0])).run(tg.tapem.Tape.empty()).unwrap()
        >>> program = tg.tapem.mul(x, x).bind(tg.tapem.sum).bind(tg.tapem.item)
        >>> program
        TapeM(mul, ...)
        >>> program.eval(tape)
        Ok(value=25.0)
        >>> len(tape), len(program.exec(tape).unwrap())
        (1, 3)
    """

    __slots__ = ()

    def bind(self, then: Callable[[A_co], TapeM[B]]) -> TapeM[B]:
        """Return a program that runs this one, and then the program that `then` returns for its value."""
        return _Bound(self, then)

    def map(self, change: Callable[[A_co], B]) -> TapeM[B]:
        """Return a program that runs this one and applies a function to its value."""
        return _Bound(self, lambda value: pure(change(value)))

    def run(self, tape: Tape) -> Result[tuple[A_co, Tape]]:
        """Return the value and the longer tape; `tape` itself is unchanged, also after an error."""
        return _interpreted(self, tape)

    def eval(self, tape: Tape) -> Result[A_co]:
        """Return only the value."""
        outcome = self.run(tape)
        return outcome if isinstance(outcome, Err) else Ok(outcome.value[0])

    def exec(self, tape: Tape) -> Result[Tape]:
        """Return only the longer tape."""
        outcome = self.run(tape)
        return outcome if isinstance(outcome, Err) else Ok(outcome.value[1])

    def __iter__(self) -> Generator[TapeM[Any], Any, A_co]:
        value: A_co = yield self
        return value

    def __await__(self) -> Generator[TapeM[Any], Any, A_co]:
        return iter(self)

    @property
    @abstractmethod
    def op(self) -> str:
        """The name of the op; of several steps, that of the first."""

    @override
    def __repr__(self) -> str:
        return f"TapeM({self.op})"


class Action(TapeM[A_co]):
    """A program of one step."""

    __slots__ = ()

    @abstractmethod
    def step(self, tape: Tape) -> tuple[A_co, Tape] | Err:
        """Return the result of `run`, without the `Ok` around it."""


@dataclass(frozen=True, slots=True, repr=False)
class Query(Action[A]):
    """A program that reads the tape and does not change it."""

    name: str
    answer: Callable[[Tape], A]

    @property
    @override
    def op(self) -> str:
        return self.name

    @override
    def step(self, tape: Tape) -> tuple[A, Tape] | Err:
        try:
            return self.answer(tape), tape
        except ERRORS as error:
            return Err.of(self.name, error)


Do: TypeAlias = Generator[TapeM[Any], Any, A]  # the return type of a generator under `do`, which returns an `A`


@overload
def do(function: Callable[P, Do[A]]) -> Callable[P, TapeM[A]]: ...
@overload
def do(function: Callable[P, Coroutine[Any, Any, A]]) -> Callable[P, TapeM[A]]: ...
def do(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that returns programs, for a generator function or an `async def` whose steps are programs.

        @tapem.do
        def squared_error(w: Node[Shape[N]], x: Node[Shape[N]]) -> tapem.Do[Node[tuple[()]]]:
            error = yield from tapem.sub(w, x)
            square = yield from tapem.mul(error, error)
            return (yield from tapem.sum(square))

    The function is called again at each run. An error ends it at that step, and its `finally` clauses run.

    Args:
        function: A generator function is annotated with the result `Do[A]`, an `async def` with `A`.

    Returns:
        The function that takes the same arguments and returns a program.

    Examples:
        >>> @tg.tapem.do
        ... def squared_norm(values):
        ...     x = yield from tg.tapem.leaf(values)
        ...     square = yield from tg.tapem.mul(x, x)
        ...     total = yield from tg.tapem.sum(square)
        ...     return (yield from tg.tapem.item(total))
        >>> squared_norm(tg.tensor([3.0, 4.0])).eval(tg.tapem.Tape.empty())
        Ok(value=25.0)
    """

    @functools.wraps(function)
    def program(*args: Any, **kwargs: Any) -> TapeM[Any]:
        return _Done(function, args, kwargs)

    return program


def pure(value: A) -> TapeM[A]:
    """Return a program that does nothing and returns this value.

    Examples:
        >>> program = tg.tapem.pure(0.5).map(lambda rate: rate / 2)
        >>> program.eval(tg.tapem.Tape.empty())
        Ok(value=0.25)
    """
    return _Pure(value)


def fail(error: Err) -> TapeM[Never]:
    """Return a program that ends the whole run with an error.

    Examples:
        >>> error = tg.tapem.Err("domain", "root", "at least 0 is expected", "x is -1")
        >>> program = tg.tapem.fail(error).bind(lambda x: tg.tapem.pure(x + 1))
        >>> print(program.eval(tg.tapem.Tape.empty()))
        root: x is -1 but at least 0 is expected
    """
    return _Failed(error)


def get_tape() -> TapeM[Tape]:
    """Return a program that returns the current tape.

    Examples:
        >>> program = tg.tapem.leaf(tg.tensor([1.0, 2.0])).bind(tg.tapem.exp).bind(lambda _: tg.tapem.get_tape())
        >>> [node.op for node in program.eval(tg.tapem.Tape.empty()).unwrap()]
        ['leaf', 'exp']
    """
    return Query("get_tape", lambda tape: tape)


def set_tape(tape: Tape) -> TapeM[None]:
    """Return a program that replaces the tape; nodes that are not on the new tape are rejected afterwards.

    Examples:
        >>> x, tape = tg.tapem.leaf(tg.tensor([3.0, 4.0])).run(tg.tapem.Tape.empty()).unwrap()
        >>> program = tg.tapem.exp(x).bind(lambda _: tg.tapem.set_tape(tape))
        >>> len(program.exec(tape).unwrap())
        1
        >>> print(tg.tapem.set_tape(tg.tapem.Tape.empty()).bind(lambda _: tg.tapem.exp(x)).eval(tape))
        exp: node 0 is of another tape but one of this tape of 0 nodes is expected
    """
    return _TapeSet(tape)


@dataclass(frozen=True, slots=True, repr=False)
class _Pure(Action[A]):
    value: A

    @property
    @override
    def op(self) -> str:
        return "pure"

    @override
    def step(self, tape: Tape) -> tuple[A, Tape]:
        return self.value, tape


@dataclass(frozen=True, slots=True, repr=False)
class _Failed(Action[Never]):
    error: Err

    @property
    @override
    def op(self) -> str:
        return "fail"

    @override
    def step(self, tape: Tape) -> Err:
        return self.error


@dataclass(frozen=True, slots=True, repr=False)
class _TapeSet(Action[None]):
    other: Tape

    @property
    @override
    def op(self) -> str:
        return "set_tape"

    @override
    def step(self, tape: Tape) -> tuple[None, Tape]:
        return None, self.other


@dataclass(frozen=True, slots=True, repr=False, eq=False)  # both would recurse through a long chain
class _Bound(TapeM[B]):
    first: TapeM[Any]
    then: Callable[[Any], TapeM[B]]

    @property
    @override
    def op(self) -> str:
        first: TapeM[Any] = self
        while isinstance(first, _Bound):
            first = first.first
        return f"{first.op}, ..."


@dataclass(frozen=True, slots=True, repr=False)
class _Done(TapeM[A]):
    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    @property
    @override
    def op(self) -> str:
        return self.function.__name__

    def started(self) -> _Body:
        body = self.function(*self.args, **self.kwargs)
        if not isinstance(body, Generator | Coroutine):
            message = f"do: {self.function.__name__} is neither a generator nor an async def"
            raise TypeError(message)
        return body


def _interpreted(program: TapeM[A], tape: Tape) -> Result[tuple[A, Tape]]:
    """Run a program in a loop with an explicit stack: recursion would fail after a thousand steps."""
    if not isinstance(tape, Tape):
        message = f"run: tape is {messages.with_article(type(tape).__name__)}, not a Tape"
        raise TypeError(message)
    waiting: list[_Waiting] = []  # for the value of the current program, the innermost last
    action: TapeM[Any] | _End = program
    error: Exception | None = None
    try:
        while not isinstance(action, _End):
            if isinstance(action, _Bound):
                waiting.append(action.then)
                action = action.first
                continue
            value, error = None, None
            try:
                if isinstance(action, _Done):
                    waiting.append(action.started())
                else:
                    outcome = _action(action).step(tape)
                    if isinstance(outcome, Err):
                        return outcome
                    value, tape = outcome
            except Exception as raised:  # noqa: BLE001  # passed to the waiting caller, as from a call
                error = raised
            action = _handed_on(waiting, value, error)
        return Ok((action.value, tape))
    finally:
        del error  # a frame that holds its own error is a cycle, and keeps the tape alive
        for body in reversed(waiting):
            if not callable(body):
                body.close()


def _handed_on(waiting: list[_Waiting], value: Any, error: Exception | None) -> TapeM[Any] | _End:
    """Pass a value or an error to the innermost waiting caller, and return the program that it runs next."""
    try:
        while waiting:
            innermost = waiting.pop()
            try:
                if callable(innermost):
                    if error is None:
                        return innermost(value)
                    continue
                action = innermost.send(value) if error is None else innermost.throw(error)
            except StopIteration as stop:
                value, error = (None, stop) if callable(innermost) else (stop.value, None)
            except Exception as raised:  # noqa: BLE001  # passed to the waiting caller, as from a call
                error = raised
            else:
                waiting.append(innermost)
                return action
        if error is not None:
            raise error
        return _End(value)
    finally:
        del error


def _action(action: TapeM[A]) -> Action[A]:
    if not isinstance(action, Action):
        message = f"run: {messages.with_article(type(action).__name__)} is no program, and no step of one"
        raise TypeError(message)
    return action


@dataclass(frozen=True, slots=True)
class _End:
    value: Any


_Body: TypeAlias = "Generator[TapeM[Any], Any, Any] | Coroutine[TapeM[Any], Any, Any]"
_Waiting: TypeAlias = "_Body | Callable[[Any], TapeM[Any]]"
