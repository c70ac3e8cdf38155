"""What all optimizers share: which parameters they change, and that a step happens whole or not at all."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeAlias

from typing_extensions import TypeVar

from tapegrad.dims import show
from tapegrad.errors import DTypeError, TapeError
from tapegrad.nn import Module, Param
from tapegrad.tensor import Tensor

if TYPE_CHECKING:
    from tapegrad.backend import Value
    from tapegrad.tape import Gradients

State = TypeVar("State", default=Any)

AnyParam: TypeAlias = Param[Any, Any]
Parameters: TypeAlias = Module | Mapping[str, AnyParam] | Iterable[AnyParam]


class Optimizer(ABC, Generic[State]):
    """Changes parameters by their gradients: a subclass says how one array follows from another, in `update`.

    Args:
        parameters: A module, or parameters by path, or parameters, which then go by their position, `[0]`.
        lr: How far a step goes; an attribute that may be set between steps.

    Attributes:
        parameters: Each parameter once, by its path.
        state: What `update` remembers of each parameter that has been changed.

    Raises:
        DTypeError: One of them is not a parameter.
        ValueError: There are none, or `lr` is negative.
    """

    def __init__(self, parameters: Parameters, lr: float) -> None:
        self.parameters = _by_path(type(self).__name__, parameters)
        self.state: dict[AnyParam, State] = {}
        self.lr = lr
        if not lr >= 0:
            message = f"{type(self).__name__}: lr is {lr} but must be at least 0"
            raise ValueError(message)

    def step(self, grads: Gradients, *, allow_unused: bool = False) -> None:
        """Changes every parameter that is not frozen by its gradient; on any error, none.

        Infinities and NaN in a gradient are not looked for; they reach the parameter.

        Args:
            grads: What `backward` gave. Gradients of other tensors may be among them.
            allow_unused: Whether a parameter without a gradient stays as it is; otherwise it is an error.

        Raises:
            TapeError: A parameter has no gradient, or the gradients are all of other tensors.
            DTypeError: A gradient has another dtype than its parameter.
        """
        name = f"{type(self).__name__}.step"
        changes: list[tuple[AnyParam, Value[Any, Any], State]] = []
        for path, parameter, gradient in self._gradients(name, grads, allow_unused=allow_unused):
            parameter.check(gradient, name, f"the gradient of {path}")
            data, state = self.update(parameter.data, gradient, self.state.get(parameter))
            parameter.check(data, name, f"the update of {path}")
            changes.append((parameter, data, state))
        for parameter, data, state in changes:
            parameter.replace(data)
            self.state[parameter] = state

    @abstractmethod
    def update(self, x: Value[Any, Any], dx: Value[Any, Any], state: State | None) -> tuple[Value[Any, Any], State]:
        """Returns the next values of a parameter, and what to remember of it.

        Args:
            x: Its values, which stay as they are.
            dx: Their gradient, which stays as it is.
            state: What was remembered; None at the first step.

        Returns:
            A new array and a new state.
        """

    def _gradients(
        self, name: str, grads: Gradients, *, allow_unused: bool
    ) -> list[tuple[str, AnyParam, Value[Any, Any]]]:
        """Returns the gradient of every parameter that has one and is not frozen."""
        active = {path: parameter for path, parameter in self.parameters.items() if not parameter.frozen}
        missing = [path for path, parameter in active.items() if parameter not in grads]
        if active and len(missing) == len(active) and len(grads):
            shapes = ", ".join(show(gradient.shape) for gradient in grads)
            message = f"{name}: the gradients are of other tensors, {shapes}, and none is of {', '.join(missing)}"
            raise TapeError(message)
        if missing and not allow_unused:
            message = f"{name}: no gradient for {', '.join(missing)}: not used, or left out of wrt="
            raise TapeError(message)
        return [(path, x, _array(grads[x])) for path, x in active.items() if x in grads]


def _array(gradient: Any) -> Any:
    """Returns what a gradient is made of, in the end, where it was differentiated again and so is a tensor itself."""
    while isinstance(gradient, Tensor):
        gradient = gradient.data
    return gradient


def _by_path(name: str, parameters: Any) -> dict[str, AnyParam]:
    if isinstance(parameters, Module):
        parameters = parameters.parameters()
    elif not isinstance(parameters, Mapping):
        parameters = {f"[{index}]": parameter for index, parameter in enumerate(parameters)}
    first: dict[AnyParam, str] = {}
    for path, parameter in parameters.items():
        if not isinstance(parameter, Param):
            message = f"{name}: {path} is a {type(parameter).__name__}, not a parameter"
            raise DTypeError(message)
        first.setdefault(parameter, path)
    if not first:
        message = f"{name}: there are no parameters"
        raise ValueError(message)
    return {path: parameter for parameter, path in first.items()}
