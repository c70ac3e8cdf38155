"""Decorators of the program that keep a function: its body is read as if there were none."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, assert_type
from typing import Literal as L

import tapegrad as tg
from tapegrad import NoneTape, Shape, Tensor, nn

P = ParamSpec("P")
R = TypeVar("R")
F = TypeVar("F", bound=Callable[..., Any])

KNOWN: dict[str, Callable[..., Any]] = {}
COUNTS: list[int] = []
weights = tg.ones((4, 3))


def timed(function: Callable[P, R]) -> Callable[P, R]:
    """Call a function with the same arguments."""

    @functools.wraps(function)
    def inner(*args: P.args, **kwargs: P.kwargs) -> R:
        result = function(*args, **kwargs)
        COUNTS.append(len(args))
        return result

    return inner


def logged(name: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Make such a decorator."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        def inner(*args: P.args, **kwargs: P.kwargs) -> R:
            KNOWN[name] = function
            return function(*args, **kwargs)

        return inner

    return decorate


def registered(function: F) -> F:
    """Return a function itself."""
    KNOWN[function.__name__] = function
    return function


def named(name: str) -> Callable[[F], F]:
    """Make a decorator that returns a function itself."""

    def decorate(function: F) -> F:
        KNOWN[name] = function
        return function

    return decorate


def halved(function: Callable[[Tensor[Any]], Tensor[Any]]) -> Callable[[Tensor[Any]], Tensor[Any]]:
    """Call a function with another argument."""

    def inner(x: Tensor[Any]) -> Tensor[Any]:
        return function(x[:, :4])

    return inner


@timed
def projected(x: Tensor[Any]) -> Tensor[Any]:
    return x @ weights


@logged("project")
def logged_projection(x: Tensor[Any]) -> Tensor[Any]:
    return x @ weights


@registered
def registered_projection(x: Tensor[Any]) -> Tensor[Any]:
    return x @ weights


@named("project")
def named_projection(x: Tensor[Any]) -> Tensor[Any]:
    return x @ weights


@halved
def halved_projection(x: Tensor[Any]) -> Tensor[Any]:
    return x @ weights


class Net(nn.Module):
    """A model with decorated methods."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 3)

    @registered
    def forward(self, x: Tensor[Any, Any]) -> Tensor[Any, Any]:
        return self.linear(x)

    @timed
    def loss(self, x: Tensor[Any, Any], y: Tensor[Any, Any]) -> Tensor[Any, Any]:
        return ((self(x) - y) ** 2).mean()


net = Net()


def accept_decorated_functions() -> None:
    assert_type(projected(tg.ones((2, 4))), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(logged_projection(tg.ones((2, 4))), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(registered_projection(tg.ones((2, 4))), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(named_projection(tg.ones((2, 4))), Tensor[Shape[L[2], L[3]], NoneTape])
    halved_projection(tg.ones((2, 5)))
    net.loss(tg.ones((2, 4)), tg.ones((2, 3)))


def reject_the_result_of_a_wrapped_function() -> None:
    projected(tg.ones((2, 4))) @ tg.ones((4, 2))  # E: matmul: inner sizes differ: x (2, 3) has 3 columns but y (4, 2) has 4 rows [tapegrad-shape]


def reject_the_result_of_a_function_that_a_called_decorator_wraps() -> None:
    logged_projection(tg.ones((2, 4))) @ tg.ones((4, 2))  # E: matmul: inner sizes differ: x (2, 3) has 3 columns but y (4, 2) has 4 rows [tapegrad-shape]


def reject_the_result_of_a_registered_function() -> None:
    registered_projection(tg.ones((2, 4))) @ tg.ones((4, 2))  # E: matmul: inner sizes differ: x (2, 3) has 3 columns but y (4, 2) has 4 rows [tapegrad-shape]


def reject_the_result_of_a_function_that_a_called_decorator_returns() -> None:
    named_projection(tg.ones((2, 4))) @ tg.ones((4, 2))  # E: matmul: inner sizes differ: x (2, 3) has 3 columns but y (4, 2) has 4 rows [tapegrad-shape]


def reject_the_result_of_a_decorated_method() -> None:
    net(tg.ones((2, 4))) @ tg.ones((4, 2))  # E: matmul: inner sizes differ: x (2, 3) has 3 columns but y (4, 2) has 4 rows [tapegrad-shape]
