"""The base class of optimizers, whose steps are atomic, and options for groups of parameters."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter
from threading import RLock
from typing import TYPE_CHECKING, Any, Final, Generic, Self, TypeAlias

import numpy as np
from typing_extensions import TypeVar, override

from tapegrad.autograd.gradients import Gradients, gradients_only
from tapegrad.autograd.identity import Same
from tapegrad.autograd.locks import open_in_children
from tapegrad.engines import Value
from tapegrad.engines.underflow import ignore_underflow
from tapegrad.errors import DTypeError, TapeError
from tapegrad.errors.messages import constant_above, gradients_of_others, in_parts, with_article, wrong_dtype
from tapegrad.errors.missing_names import attribute_of_instance, check_arguments
from tapegrad.errors.options import check_flag
from tapegrad.errors.ranges import RANGES, check_options
from tapegrad.errors.tracebacks import public_api, trim_traceback
from tapegrad.nn import Module, Param, Valid
from tapegrad.nn.param import printed_parts, processes_of, replace_all
from tapegrad.nn.paths import check_pattern, fits
from tapegrad.optim.packing import Layout, advanced, packed
from tapegrad.optim.state_fields import names_of
from tapegrad.sizes import show
from tapegrad.tensors import Tensor
from tapegrad.tensors.subclasses import subclass_defined

if TYPE_CHECKING:
    from tapegrad.optim.large import Update

State = TypeVar("State", default=Any)

AnyParam: TypeAlias = Param[Any, Any]
Parameters: TypeAlias = Module | Mapping[str, AnyParam] | Iterable[AnyParam]


class OnDevice:
    """An array or an int of optimizer state that `jit` stores on the device; it is copied to NumPy when it is read."""

    __slots__ = ("array",)

    def __init__(self, array: Any) -> None:
        self.array = array

    def here(self) -> Any:
        """Return the value as a NumPy array, or as an int if it is an integer scalar."""
        if processes := processes_of(self.array):
            raise TapeError(in_parts(self.array.shape, processes))
        values = np.array(self.array)
        return int(values) if values.ndim == 0 and values.dtype.kind == "i" else values

    def __array__(self, dtype: Any = None, *, copy: bool | None = None) -> Any:  # always copies
        return np.asarray(self.here(), dtype)

    @override
    def __reduce__(self) -> Any:
        return _again, (self.here(),)  # because the device may be missing where it is unpickled

    @override
    def __repr__(self) -> str:
        return printed_parts(self.array) or repr(self.here())


def _again(here: Any) -> Any:
    return here


@dataclass(slots=True)
class Group:
    """Options for some of the parameters; each may be set between steps.

    Attributes:
        lr: Their learning rate; None for the optimizer's.
        weight_decay: Their weight decay; None for the optimizer's.

    Examples:
        >>> body, head = tg.nn.Param(tg.tensor([1.0])), tg.nn.Param(tg.tensor([2.0]))
        >>> groups = {"body*": tg.optim.Group(lr=0.0)}
        >>> opt = tg.optim.SGD({"body.w": body, "head.w": head}, lr=0.25, groups=groups)
        >>> opt.step((body.trace() * head).sum().backward(wrt=[body, head]))
        >>> body.tolist(), head.tolist()
        ([1.0], [1.75])
    """

    lr: float | None = None
    weight_decay: float | None = None


Groups: TypeAlias = Mapping[str, Group]


@public_api
class Optimizer(ABC, Generic[State]):
    """Base class of optimizers: a subclass computes the new values of a parameter in `update`.

    Args:
        parameters: A module, a mapping of parameters by path, or an iterable of parameters, whose paths are then their
            positions, such as `[0]`.
        lr: The learning rate; an attribute that may be set between steps.
        weight_decay: The weight decay λ; an attribute that may be set between steps.
        decoupled: Whether a parameter is multiplied by 1 - lr λ before the step, or λ times the parameter is added to
            its gradient.
        groups: Options by path pattern; `*` matches any characters, dots included. If several patterns match a path,
            the first one that sets an option determines it.

    Attributes:
        parameters: Each parameter once, by its path.
        state: The state that `update` returned for each parameter that was updated.

    Raises:
        DTypeError: An item is not a parameter, or is bfloat16 and not frozen; `parameters` is neither a module nor
            iterable; or `lr` is not a number.
        ValueError: There are no parameters, `lr` or `weight_decay` is negative, or a pattern matches no path.

    Examples:
        >>> class SignSGD(tg.optim.Optimizer):
        ...     def start(self, x):
        ...         return None
        ...     def update(self, x, dx, state, lr):
        ...         return x - np.sign(dx) * lr, state
        >>> w = tg.nn.Param(tg.tensor([1.0, -2.0]))
        >>> opt = SignSGD([w], lr=0.5)
        >>> opt.step((w.trace() ** 2).sum().backward(wrt=[w]))
        >>> w.tolist()
        [0.5, -1.5]
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        subclass_defined(cls)

    def __init__(
        self,
        parameters: Parameters,
        lr: float,
        *,
        weight_decay: float = 0.0,
        decoupled: bool = False,
        groups: Groups | None = None,
    ) -> None:
        name = type(self).__name__
        paths = _paths(name, parameters)
        self.parameters = _by_path(name, paths)
        _check_dtypes(name, self.parameters.items())
        self.state: dict[AnyParam, State] = {}
        self.lr = lr
        self.weight_decay = weight_decay
        self.decoupled = decoupled
        name = type(self).__name__
        check_flag(name, "decoupled", decoupled)
        if groups is not None and not isinstance(groups, Mapping):
            message = f"{name}: groups is {with_article(type(groups).__name__)} but a dict by pattern is expected"
            raise DTypeError(message)
        self.groups = dict(groups or {})
        self._layout = Layout()
        self._groups_of: dict[AnyParam, list[Group]] = {parameter: [] for parameter in self.parameters.values()}
        _check_options(name, self)
        for pattern, group in self.groups.items():
            check_pattern(name, pattern, [path for path, _ in paths])
            _check_options(f"{name}: {pattern}", group)
            for parameter in {parameter: None for path, parameter in paths if fits(path, pattern)}:
                self._groups_of[parameter].append(group)

    if not TYPE_CHECKING:

        def __new__(cls, *args: Any, **kwargs: Any) -> Self:
            """Create an instance; raise if an argument has PyTorch's name instead of tapegrad's, or lacks a name.

            Raises:
                TypeError: The optimizer has the argument by another name, or by name only, or does without it.
            """
            check_arguments(cls, args, kwargs)
            return super().__new__(cls)

        __getattr__ = attribute_of_instance("Optimizer")  # called for a name that does not exist

    def step(self, grads: Gradients, *, allow_unused: bool = False) -> None:
        """Update every parameter that is not frozen; after an error or an interrupt, none has changed.

        Gradients are not checked for infinities and NaN, which propagate to the parameter.

        Args:
            grads: The result of `backward`. It may contain gradients of other tensors.
            allow_unused: Whether a parameter without a gradient is left unchanged; otherwise it is an error.

        Raises:
            TapeError: A parameter has no gradient, or all gradients are of other tensors.
            DTypeError: A gradient and its parameter differ in dtype, or `grads` is not a `Gradients`.
        """
        with _STEPPING:
            try:
                used = self._used(grads, allow_unused=allow_unused)
                layout = self._layout if self._layout.is_of(used, self.state) else self._packed(used)
                gradients = self._gradients(layout, grads)
                with ignore_underflow():  # the square of a small gradient may underflow to 0
                    if not self._commit(layout, gradients, is_in_place=True):
                        self._commit(layout, gradients, is_in_place=False)
            except Exception as error:
                trim_traceback(error)
                raise

    @abstractmethod
    def start(self, x: Value[Any, Any]) -> State:
        """Return the initial state of a parameter.

        Args:
            x: Its values.

        Returns:
            None, or a dataclass of ints and arrays, which are saved in checkpoints.
        """

    @abstractmethod
    def update(self, x: Value[Any, Any], dx: Value[Any, Any], state: State, lr: float) -> tuple[Value[Any, Any], State]:
        """Return the next values and the next state of a parameter.

        Decorate the method with `elementwise` if no element depends on another: that is faster.

        Args:
            x: The values, which must not be modified.
            dx: Their gradient, which must not be modified.
            state: The current state.
            lr: The learning rate of this parameter.

        Returns:
            A new array and a new state.
        """

    def arrays(self) -> dict[str, Any]:
        """Return what is needed to resume a run exactly: learning rates, and the state of each parameter by path."""
        found: dict[str, Any] = {"lr": np.array(float(self.lr))}
        for pattern, group in self.groups.items():
            if group.lr is not None:
                found[f"groups.{pattern}.lr"] = np.array(float(group.lr))
        for path, parameter in self.parameters.items():
            state = self._state_of(parameter)
            found |= {f"{path}.{name}": np.asarray(getattr(state, name)) for name in names_of(state)}
        return found

    def restore(self, arrays: Mapping[str, Any]) -> None:
        """Restore the result of `arrays`; `tapegrad.io.load` has checked its names, shapes and dtypes."""
        self.lr = float(arrays["lr"])
        for pattern, group in self.groups.items():
            if group.lr is not None:
                group.lr = float(arrays[f"groups.{pattern}.lr"])
        for path, parameter in self.parameters.items():
            state: Any = self._state_of(parameter)
            if state is None:
                continue
            of_state = {name: arrays[f"{path}.{name}"] for name in names_of(state)}
            self.state[parameter] = type(state)(
                **{
                    name: int(array) if isinstance(getattr(state, name), int) else array
                    for name, array in of_state.items()
                }
            )

    def _used(self, grads: Gradients, *, allow_unused: bool) -> list[AnyParam]:
        """Return every parameter that has a gradient and is not frozen."""
        gradients_only(f"{type(self).__name__}.step", grads)
        values = grads.values_by_node  # a parameter has no tape, so it is its own node
        active = [*self.parameters.values()]
        if any(map(_FROZEN, active)):
            active = [x for x in active if not x.frozen]
        if all(map(values.__contains__, active)):
            return active
        used = [x for x in active if x in values]
        name = f"{type(self).__name__}.step"
        for path, x in self.parameters.items():
            if x in grads.constants and not x.frozen:
                raise TapeError(constant_above(f"{name}: {path}", x.shape))
        missing = [path for path, x in self.parameters.items() if not x.frozen and x not in values]
        if not used and len(grads):
            shapes = [show(gradient.shape) for gradient in grads]
            raise TapeError(gradients_of_others(name, shapes, ", ".join(missing)))
        if not allow_unused:
            # The message lists all reasons, because a use of `w.T` off-tape is not recorded and cannot be detected.
            reasons = (
                "not used, used where it met no tape (as w.T by itself, or a layer of a tensor that is not traced), "
                "or left out of wrt="
            )
            fix = "allow_unused=True leaves what is not used unchanged"
            message = f"{name}: no gradient for {', '.join(missing)}: {reasons}; {fix}"
            raise TapeError(message)
        return used

    def _gradients(self, layout: Layout, grads: Gradients) -> list[Any]:
        """Return the gradients in the order of the layout, after checking shapes and dtypes."""
        found: list[Any] = [*map(grads.values_by_node.__getitem__, layout.parameters)]
        if not layout.fits(found):
            found = [*map(_array, found)]
            self._check("gradient", layout, found)
        return found

    def _check(self, role: str, layout: Layout, arrays: Sequence[Any]) -> None:
        """Reject arrays if one differs from its parameter in shape or dtype."""
        by_parameter = dict(zip(layout.parameters, arrays, strict=True))
        for path, parameter in self.parameters.items():
            if parameter in by_parameter:
                parameter.check(by_parameter[parameter], f"{type(self).__name__}.step", f"the {role} of {path}")

    def _commit(self, layout: Layout, gradients: Sequence[Any], *, is_in_place: bool) -> bool:
        """Compute and store the new values and states; return False, changing nothing, if in place is not possible."""
        after, changes = advanced(layout, gradients, self._update_of, is_in_place=is_in_place)
        if (after.large or after.unpacked) and not layout.fits(after.xs):
            self._check("update", layout, after.xs)
        states = zip(after.parameters, after.states, strict=True)
        others = *changes, (self.state.update, states), (setattr, self, "_layout", after)
        try:
            replace_all(after.parameters, after.xs, *others)
        except KeyError:  # raised by a check: an array has another reference
            return False
        return True

    def _packed(self, used: Sequence[AnyParam]) -> Layout:
        _check_dtypes(type(self).__name__, self.parameters.items())  # a parameter may have been unfrozen
        states = [self._state_of(parameter) for parameter in used]
        is_elementwise = hasattr(self.update, "is_elementwise")
        options = [tuple(map(Same, self._groups_of[parameter])) if is_elementwise else None for parameter in used]
        return packed(used, states, options)

    def _update_of(self, parameter: AnyParam) -> Update:
        return partial(self._updated, self._options(parameter))

    def _options(self, parameter: AnyParam) -> tuple[Any, float]:
        """Return the learning rate and the weight decay of a parameter; its groups override the optimizer."""
        rate: Any = self.lr
        decay = self.weight_decay
        for group in reversed(self._groups_of[parameter]):
            rate = rate if group.lr is None else group.lr
            decay = decay if group.weight_decay is None else group.weight_decay
        # Under `jit` the rate is a symbolic value, which float() cannot convert.
        return rate if type(rate) is float or isinstance(rate, Value) else float(rate), float(decay)

    def _updated(self, options: tuple[Any, float], x: Any, dx: Any, state: State) -> tuple[Any, State]:
        """Apply the weight decay and the update."""
        lr, decay = options
        if decay and self.decoupled:
            x = x * (1 - lr * decay)
        elif decay:
            dx = dx + x * decay
        return self.update(x, dx, state, lr)

    @override
    def __repr__(self) -> str:
        count = len(self.parameters)
        return f"{type(self).__name__}(lr={self.lr}, {count} parameter{'' if count == 1 else 's'})"

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_layout": Layout()}  # a copy has separate arrays, not views of one row

    def _state_of(self, parameter: AnyParam) -> State:
        if parameter not in self.state:
            return self.start(parameter.data)
        state: Any = self.state[parameter]
        changes = {
            name: value.here() for name in names_of(state) if isinstance(value := getattr(state, name), OnDevice)
        }
        found: State = replace(state, **changes) if changes else state
        return found


def _array(gradient: Any) -> Any:
    """Return the array of a gradient, which is a tensor if it was computed with a tape for second derivatives."""
    while isinstance(gradient, Tensor):
        gradient = gradient.data
    return gradient


def _check_options(name: str, options: Any) -> None:
    for option in ("lr", "weight_decay"):
        number = getattr(options, option)
        if number is not None or not isinstance(options, Group):
            check_options(name, RANGES["SGD"], **{option: number})


def _check_dtypes(name: str, parameters: Iterable[tuple[str, AnyParam]]) -> None:
    """Reject bfloat16 parameters that are not frozen: a step below 1/256 of a value would round to nothing."""
    for path, parameter in parameters:
        if parameter.dtype.kind == "V" and not parameter.frozen:
            raise DTypeError(wrong_dtype(name, path, str(parameter.dtype), "float32 or float64"))


def _paths(name: str, parameters: Any) -> list[tuple[str, Any]]:
    if isinstance(parameters, Module):
        return list(parameters.paths())
    if isinstance(parameters, Mapping):
        return list(parameters.items())
    if isinstance(parameters, Valid):
        message = f"{name}: parameters is a valid module, which only predicts; give the module that it is made of"
        raise DTypeError(message)
    if not isinstance(parameters, Iterable):
        kind = with_article(type(parameters).__name__)
        message = f"{name}: parameters is {kind} but a module, or parameters, are expected"
        raise DTypeError(message)
    return [(f"[{index}]", parameter) for index, parameter in enumerate(parameters)]


def _by_path(name: str, paths: list[tuple[str, Any]]) -> dict[str, AnyParam]:
    first: dict[AnyParam, str] = {}
    for path, parameter in paths:
        if not isinstance(parameter, Param):
            message = f"{name}: {path} is {with_article(type(parameter).__name__)}, not a parameter"
            raise DTypeError(message)
        first.setdefault(parameter, path)
    if not first:
        message = f"{name}: there are no parameters"
        raise ValueError(message)
    return {path: parameter for parameter, path in first.items()}


_FROZEN: Final = attrgetter("frozen")

# Steps are serialized: threads that share parameters do not lose updates.
_STEPPING: Final = open_in_children(RLock())
