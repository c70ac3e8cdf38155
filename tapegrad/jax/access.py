"""Access checks while a step is traced: it may read only the parameters, buffers and optimizers it was given."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from tapegrad.errors import messages
from tapegrad.generator import substitutions
from tapegrad.nn.param import Buffer, State
from tapegrad.optim import Optimizer
from tapegrad.sizes import show
from tapegrad.tensors import Tensor

if TYPE_CHECKING:
    from tapegrad.jax.arguments import ArgumentTree


class NotGivenError(Exception):
    """A step reads what it was not given; a class of its own, so that no op or layer adds its name to the message."""


class Access:
    """What a step may read while it is traced: its arguments, and what it creates itself.

    Args:
        tree: Its arguments.
    """

    def __init__(self, tree: ArgumentTree) -> None:
        self.tree = tree
        self._created: dict[int, Any] = {}
        self._error: NotGivenError | None = None

    def add(self, created: Any) -> None:
        """Let the step read a parameter, a buffer or an optimizer that it has created."""
        self._created[id(created)] = created

    def check(self, read: Any) -> None:
        """Reject reading an object that the step was not given and has not created.

        Raises:
            NotGivenError: The step may not read it.
        """
        if (
            (isinstance(read, State) and read in self.tree.states)
            or id(read) in self._created
            or any(read is one for one in self.tree.optimizers)
        ):
            return
        call = self.tree.call
        path = self.tree.unknown.get(id(read), ("", None))[0]
        noun = "buffer" if isinstance(read, Buffer) else "parameter" if isinstance(read, State) else "optimizer"
        of_whom = (
            f"of shape {show(_layout(read).shape)}" if isinstance(read, State) else f"of class {type(read).__name__}"
        )
        root = path.partition(".")[0]
        fix = f"pass {root if root in self.tree.reads.variables else 'it'} as an argument of {call}"
        self._error = NotGivenError(messages.not_given(call, f"the {noun} {path or of_whom}", fix))
        raise self._error

    def finish(self) -> None:
        """Raise the error again, because the step may have caught it."""
        if self._error is not None:
            raise self._error


class _Data:
    """The values of a parameter or a buffer, with a check that the step may read them."""

    def __get__(self, state: Any, _: Any) -> Any:
        if state is None:
            return self
        if (traced := substitutions.get()) is not None:
            traced.access.check(state)
        return _SLOT.__get__(state)

    def __set__(self, state: Any, values: Any) -> None:
        if (traced := substitutions.get()) is not None and _layout(state) is None:
            traced.access.add(state)
        _SLOT.__set__(state, values)

    def __delete__(self, state: Any) -> None:
        _SLOT.__delete__(state)


class _Memory:
    """The state of an optimizer, with a check that the step may read it."""

    def __get__(self, optimizer: Any, _: Any) -> Any:
        if optimizer is None:
            return self
        if (traced := substitutions.get()) is not None:
            traced.access.check(optimizer)
        return vars(optimizer)["state"]

    def __set__(self, optimizer: Any, state: Any) -> None:
        if (traced := substitutions.get()) is not None and "state" not in vars(optimizer):
            traced.access.add(optimizer)
        vars(optimizer)["state"] = state


def watch() -> None:
    """Restrict what the step that is traced in this thread may read; shapes are not restricted."""
    for name in _LAYOUT:
        setattr(State, name, property(partial(_of_layout, name)))
    for kind, name, reads in ((State, "data", _Data()), (Optimizer, "state", _Memory())):
        setattr(kind, name, reads)


def unwatch() -> list[tuple[Any, ...]]:
    """Return calls of functions that are not written in Python, that undo `watch`."""
    before = {"data": _SLOT, **_LAYOUT}
    return [*((setattr, State, *one) for one in before.items()), (setattr, Optimizer, "state", None)]


def _of_layout(name: str, state: Any) -> Any:
    return getattr(_layout(state), name)


def _layout(state: Any) -> Any:
    """Return an array of a parameter or a buffer, for its shape; None if it is not initialized yet."""
    try:
        return _SLOT.__get__(state)
    except AttributeError:
        return getattr(state, "on_device", None)


_SLOT: Final[Any] = vars(Tensor)["data"]
_LAYOUT: Final = {name: vars(State)[name] for name in ("shape", "dtype", "ndim", "size")}
