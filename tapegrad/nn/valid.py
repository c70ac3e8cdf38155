"""Modules for inference alone: what is handed to training by mistake is refused, not fine-tuned."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, NoReturn

from typing_extensions import TypeVar, override

from tapegrad.errors import TapeError
from tapegrad.nn.places import shown
from tapegrad.tensor import Tensor
from tapegrad.tracebacks import public_api

if TYPE_CHECKING:
    from tapegrad.nn.module import HasForward

F = TypeVar("F", covariant=True)
M_co = TypeVar("M_co", covariant=True, default=Any)


class Valid(Generic[M_co]):
    """A module that predicts and cannot be trained; `module.valid()` makes one.

    It is no module: to a checker an optimizer, or a function that trains a `Net`, takes no `Valid[Net]`. When it runs
    it refuses whatever has a tape. The parameters are those of the module itself, and change when that is trained.

    Raises:
        TapeError: An argument has a tape, or its parameters are asked for.
    """

    def __init__(self, module: M_co) -> None:
        self._module: Any = module

    if TYPE_CHECKING:

        @property
        def __call__(self: Valid[HasForward[F]]) -> F:
            """Computes the module's `forward`, whose type a call has."""

    else:

        @public_api
        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            """Compute the module's `forward` of tensors without a tape."""
            for x in (*args, *kwargs.values()):
                if isinstance(x, Tensor) and x.owns_tape:
                    error = "an argument has a tape, but a valid module only predicts; detach it first"
                    message = f"{self._shown}: {error}"
                    raise TapeError(message)
            return self._module(*args, **kwargs)

    def parameters(self) -> NoReturn:
        """Reject: who asks for parameters is about to train them."""
        message = f"{self._shown} has no parameters to train; it is made of a module that has"
        raise TapeError(message)

    @property
    def _shown(self) -> str:
        return f"Valid({shown(self._module)})"

    @override
    def __repr__(self) -> str:
        return f"Valid({self._module!r})"
