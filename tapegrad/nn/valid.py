"""Modules for inference only, which training rejects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, NoReturn

from typing_extensions import TypeVar, override

from tapegrad.errors import DTypeError, TapeError, messages
from tapegrad.errors.tracebacks import public_api
from tapegrad.nn.layer_names import layer_text
from tapegrad.tensors import Tensor

if TYPE_CHECKING:
    from tapegrad.nn.module import HasForward

F = TypeVar("F", covariant=True)
M_co = TypeVar("M_co", covariant=True, default=Any)


class Valid(Generic[M_co]):
    """A module for inference only, created by `module.valid()`.

    It is not a `Module`: mypy reports a `Valid[Net]` passed to an optimizer or to a function that trains a `Net`. At
    run time, arguments with a tape are errors, except for tapes of `trace(training=False)`. It shares its parameters
    with the module.

    Raises:
        DTypeError: `module` is not a module.
        TapeError: An argument has a tape on which layers train, or `parameters` is called.

    Examples:
        >>> predict = tg.nn.Linear(3, 2, rng=0).valid()
        >>> x = tg.tensor([[1.0, 2.0, 3.0]])
        >>> predict(x).shape
        (1, 2)
        >>> predict(x.trace())
        Traceback (most recent call last):
            ...
        tapegrad.errors.TapeError: Valid(Linear(3, 2)): an argument has a tape, but a valid module only predicts...
    """

    @public_api
    def __init__(self, module: M_co) -> None:
        if not hasattr(module, "forward"):
            raise DTypeError(messages.no_module("Valid: module", messages.with_article(type(module).__name__)))
        self._module: Any = module

    if TYPE_CHECKING:

        @property
        def __call__(self: Valid[HasForward[F]]) -> F:
            """A callable with the type of the module's `forward`."""

    else:

        @public_api
        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            """Compute the module's `forward` for tensors on which layers do not train."""
            for x in (*args, *kwargs.values()):
                if isinstance(x, Tensor) and x.is_training:
                    error = "an argument has a tape, but a valid module only predicts; use x.trace(training=False)"
                    message = f"{self._shown}: {error}"
                    raise TapeError(message)
            return self._module(*args, **kwargs)

    def parameters(self) -> NoReturn:
        """Raise an error, because parameters are requested only for training."""
        message = f"{self._shown} has no parameters to train; it is made of a module that has"
        raise TapeError(message)

    @property
    def _shown(self) -> str:
        return f"Valid({layer_text(self._module)})"

    @override
    def __repr__(self) -> str:
        return f"Valid({self._module!r})"
