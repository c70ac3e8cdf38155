"""Gradients by tensor: backward closures accumulate into them, and `backward` returns them."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Final, Generic, NoReturn, Self

from typing_extensions import TypeVar, deprecated, override

from tapegrad.autograd import gradient_norms, tape_repr
from tapegrad.autograd.gradient_norms import array_of
from tapegrad.engines import engine
from tapegrad.engines.thresholds import ACCUMULATE_MIN_ELEMENTS
from tapegrad.errors import DTypeError, ShapeError, TapeError, TapegradError, messages
from tapegrad.errors.ranges import check_options
from tapegrad.errors.tracebacks import public_api, trim_on_exit, trim_traceback
from tapegrad.sizes import show

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import numpy as np

    from tapegrad.autograd.tape import Entry, Node, NoneTape
    from tapegrad.engines import Value
    from tapegrad.tensors import HasParameters, Tensor

S = TypeVar("S", bound=tuple[Any, ...], default=Any)
S2 = TypeVar("S2", bound=tuple[Any, ...], default=Any)
D = TypeVar("D", bound="np.generic", default=Any)
D2 = TypeVar("D2", bound="np.generic", default=Any)


_NO_NODES: Final[frozenset[Any]] = frozenset()


class MissingGradientError(TapegradError, KeyError):
    """No gradient was computed for this tensor."""

    @override
    def __str__(self) -> str:
        return str(self.args[0])


class Gradients:
    """Gradients by tensor: `grads[x]` is a tensor with the shape and dtype of `x`.

    Examples:
        >>> x = tg.tensor([1.5, -2.0])
        >>> grads = tg.square(x.trace()).sum().backward()
        >>> grads[x].tolist()
        [3.0, -4.0]
        >>> grads.norm()
        5.0
        >>> grads.clip_norm(2.5)[x].tolist()
        [1.5, -2.0]
    """

    __slots__ = ("_has_opaque", "_retained", "constants", "values_by_node", "wanted")

    def __init__(self) -> None:
        self.values_by_node: dict[Any, Any] = {}
        self.constants: frozenset[Any] = _NO_NODES  # parameters that a level of `Autodiff` above took as constants
        self.wanted: set[Any] = set()
        self._retained: set[Any] = set()
        self._has_opaque = False  # whether there are steps of `add_backward_op`, which may read any gradient

    def __getitem__(self, x: Tensor[S, Any, D]) -> Tensor[S, NoneTape, D]:
        node = _identity(x)
        try:
            if not node.is_float or node not in self.values_by_node:
                self._reject_constant(node)
                _reject_lookup(node)
        except AttributeError:
            if hasattr(x, "tape"):
                raise
            with trim_on_exit:
                raise DTypeError(_no_key(x)) from None
        except TapegradError as error:
            trim_traceback(error)
            raise
        gradient: Tensor[S, NoneTape, D] = node.with_data(self.values_by_node[node])
        return gradient

    def get(self, x: Tensor[S, Any, D]) -> Tensor[S, NoneTape, D] | None:
        """Return the gradient of `x`, or None if there is none."""
        return self[x] if x in self or _identity(x) in self.constants else None

    def __contains__(self, x: object) -> bool:
        return _identity(x) in self.values_by_node

    def __iter__(self) -> Iterator[Tensor[Any, NoneTape, Any]]:
        return iter(self.values_by_node)

    def __len__(self) -> int:
        return len(self.values_by_node)

    def wants(self, x: Tensor[Any, Any, Any]) -> bool:
        """Return whether the gradient of `x` is needed; a backward closure may skip computing it if not."""
        return x in self.wanted or (x.tape.holds and x.node in self.wanted)

    def needs_itself(self, x: Node) -> bool:
        """Return whether the gradient of an intermediate result is read or has parts, besides that of its operand."""
        return x in self._retained or x in self.values_by_node or self._has_opaque

    @public_api
    def ref(self, x: Tensor[S, Any, D]) -> Value[S, D]:
        """Return the gradient accumulated for `x` so far as a raw value, without removing it.

        Raises:
            KeyError: `x` has no gradient.
        """
        node = _identity(x)
        if node not in self.values_by_node:
            self._reject_constant(node)
            raise MissingGradientError(_unreached(x))
        value: Value[S, D] = self.values_by_node[node]
        return value

    @public_api
    def mut(self, x: Tensor[S, Any, D]) -> Accumulator[S, D]:
        """Return an accumulator for the gradient of `x`, for `dx += dy`; it starts at zero.

        Raises:
            DTypeError: `x` is not a float.
        """
        node = _identity(x)
        if not node.is_float:
            raise DTypeError(_without_gradient(node))
        if node not in self.values_by_node:
            self.values_by_node[node] = engine(node.data).zeros(node.shape, node.dtype)
        return Accumulator(self, node)

    @public_api
    def mut_and_ref(self, x: Tensor[S, Any, D], result: Tensor[S2, Any, D2]) -> tuple[Accumulator[S, D], Value[S2, D2]]:
        """Return an accumulator for the gradient of an operand, and the gradient of a result.

            dx, dy = grads.mut_and_ref(x, y)
            dx += dy * 2.0

        Raises:
            KeyError: `result` has no gradient.
            DTypeError: `x` is not a float.
        """
        dy = self.ref(result)
        return self.mut(x), dy

    def remove(self, x: Tensor[S, Any, D]) -> Tensor[S, NoneTape, D] | None:
        """Remove and return the gradient of `x`, or return None if there is none."""
        gradient = self.get(x)
        self.values_by_node.pop(_identity(x), None)
        return gradient

    @public_api
    def replace(self, x: Tensor[S, Any, D], gradient: Tensor[S, NoneTape, D]) -> None:
        """Set the gradient of `x` to `gradient`; an existing gradient is replaced, not added to.

        Raises:
            ShapeError: The shapes differ.
            DTypeError: The dtypes differ, or `x` is not a float.
            TapeError: `gradient` has a tape.
        """
        node = _identity(x)
        if not node.is_float:
            raise DTypeError(_without_gradient(node))
        if gradient.owns_tape:
            raise TapeError(messages.tape_unwanted("Gradients.replace", "gradient"))
        if gradient.shape != node.shape:
            _reject_shape("Gradients.replace", node.shape, gradient.shape)
        if gradient.dtype != node.dtype:
            raise DTypeError(
                messages.mixed_dtypes("Gradients.replace", str(node.dtype), "x", str(gradient.dtype), "gradient")
            )
        self.values_by_node[node] = gradient.data

    def add(self, x: Tensor[S, Any, D], gradient: Value[S, D]) -> None:
        """Add `gradient`, a raw value with the shape of `x`, to the accumulated gradient of `x`.

        Raises:
            ShapeError: The shapes differ; a gradient is never broadcast.
        """
        try:
            if gradient.shape != (x.data.shape if x.is_saved else x.shape):
                _reject_shape("Gradients.add", x.shape, gradient.shape)
        except ShapeError as error:
            trim_traceback(error)
            raise
        if x.tape.holds:
            x = x.node
        values = self.values_by_node
        if x not in values:
            values[x] = gradient
        else:
            values[x] = (
                values[x] + gradient
                if gradient.size < ACCUMULATE_MIN_ELEMENTS
                else engine(gradient).accumulate(values, x, gradient)
            )

    def pop_output(self, x: Tensor[S, Any, D]) -> Value[S, D]:
        """Remove and return the accumulated gradient of `x`, the output of the op whose closure calls this method.

        Raises:
            KeyError: `x` has no gradient. Only a step of `add_backward_op`, which is never pruned, has to check first.
        """
        try:
            value: Any = self.values_by_node[x] if x in self._retained else self.values_by_node.pop(x)
        except KeyError:
            with trim_on_exit:
                raise MissingGradientError(_unreached(x)) from None
        gradient: Value[S, D] = value
        return gradient

    @public_api
    def pop_reusable(self, x: Tensor[S, Any, D]) -> tuple[Value[S, D], bool]:
        """Remove and return the gradient of `x` like `pop_output`, and whether the caller may overwrite the array.

        The caller may if the array is large and has no other reference.
        """
        values = self.values_by_node
        is_ours = x in values and x not in self._retained and values[x].size >= ACCUMULATE_MIN_ELEMENTS
        is_free = is_ours and engine(values[x]).is_free(values, x)
        return self.pop_output(x), is_free

    @public_api
    @deprecated(
        "Gradients.take is called Gradients.pop_output since 0.2.0, and its old name is removed in 0.3.0", category=None
    )
    def take(self, x: Tensor[S, Any, D]) -> Value[S, D]:
        """Return `pop_output(x)`; deprecated: use `pop_output`."""
        warnings.warn(vars(Gradients.take)["__deprecated__"], DeprecationWarning, stacklevel=3)
        return self.pop_output(x)

    def norm(self) -> float:
        """Return the 2-norm of all gradients taken as one vector, `√(∑ dx²)`, summed in float64."""
        return gradient_norms.norm(self.values_by_node.values())

    @public_api
    def norms(self, module: HasParameters) -> dict[str, float]:
        """Return the norm of the gradient of each parameter by its path; parameters without a gradient are omitted.

            grads = loss.backward(wrt=model)
            grads.norms(model)  # {"layers.0.weight": 0.23, "layers.0.bias": 0.03}

        Args:
            module: The module with the parameters.
        """
        values = self.values_by_node
        return {
            path: gradient_norms.length(values[node]) for path, node in module.parameters().items() if node in values
        }

    def is_finite(self) -> bool:
        """Return whether all gradients are free of infinities and NaNs."""
        return all(map(gradient_norms.is_finite, self.values_by_node.values()))

    @public_api
    def clip_norm(self, limit: float) -> Gradients:
        """Return the gradients with `norm` at most `limit`: all of them are scaled by the same factor.

        An infinity or a NaN in any of them makes all of them NaN, which `is_finite` detects. If the gradients are
        differentiated again, the factor is a constant.

        Args:
            limit: The largest norm, above 0.

        Raises:
            ValueError: `limit` is not above 0.
            DTypeError: `limit` is not a number.

        Source:
            Pascanu et al., [On the difficulty of training recurrent neural networks](https://arxiv.org/abs/1211.5063),
            algorithm 1; PyTorch adds 1e-6 to the norm, so that its result stays slightly below the limit.
        """
        check_options("clip_norm", limit=limit)
        return self._mapped(gradient_norms.scaling(self.values_by_node.values(), limit))

    @public_api
    def clip_value(self, limit: float) -> Gradients:
        """Return the gradients with each element clipped to `-limit` and `limit`; a NaN stays a NaN.

        Args:
            limit: The largest absolute value, above 0.

        Raises:
            ValueError: `limit` is not above 0.
            DTypeError: `limit` is not a number.
        """
        check_options("clip_value", limit=limit)
        return self._mapped(lambda value: array_of(value).clip(-limit, limit))

    def _mapped(self, change: Callable[[Any], Any]) -> Gradients:
        changed = Gradients()
        changed.constants = self.constants
        changed.values_by_node = {node: change(value) for node, value in self.values_by_node.items()}
        return changed

    def _reject_constant(self, node: Node) -> None:
        """Raise a TapeError if a level above took a parameter as a constant: its gradient, or a part, is missing."""
        if node in self.constants:
            raise TapeError(messages.constant_above("a parameter", node.shape))

    def _want(
        self, targets: Iterable[Node], retained: Iterable[Node], entries: Iterable[Entry], *, has_opaque: bool
    ) -> None:
        """Mark every tensor on a path from a target to the result as wanted."""
        wanted: set[Node | None] = set(targets)
        self.wanted, self._retained, self._has_opaque = wanted, {*wanted, *retained}, has_opaque
        is_apart, add = wanted.isdisjoint, wanted.add
        if has_opaque:
            entries = _all_needed(entries, wanted)
        for _, out, inputs, _ in entries:
            if not is_apart(inputs):
                add(out)

    def _finish(self) -> None:
        """Discard intermediate gradients and check the dtypes of the others."""
        values = self.values_by_node
        for node in values.keys() - self._retained:
            del values[node]
        for node, value in values.items():
            dtype = node.data.dtype if node.is_saved else node.dtype  # reading an unsaved value would compute it
            if value.dtype is not dtype and value.dtype != dtype:
                raise DTypeError(
                    messages.mixed_dtypes("Gradients.add", str(node.dtype), "x", str(value.dtype), "gradient")
                )
        self.wanted, self._retained, self._has_opaque = set(), set(), False

    @override
    def __repr__(self) -> str:
        shapes = tape_repr.listed(list(self.values_by_node), lambda node: show(node.shape))
        return f"Gradients({shapes})" if len(self) <= 2 * tape_repr.SHOWN else f"Gradients({len(self)}: {shapes})"


class Accumulator(Generic[S, D]):
    """An accumulator for the gradient of one tensor: `dx += dy` and `dx -= dy` update it in the gradients.

    Examples:
        >>> x = tg.tensor([1.0, 2.0])
        >>> grads = tg.Gradients()
        >>> dx = grads.mut(x)
        >>> dx += np.float32([0.5, 0.5])
        >>> dx += np.float32([1.0, 0.0])
        >>> grads[x].tolist()
        [1.5, 0.5]
    """

    __slots__ = ("_gradients", "_node")

    def __init__(self, gradients: Gradients, node: Tensor[S, NoneTape, D]) -> None:
        self._gradients = gradients
        self._node = node

    @property
    def value(self) -> Value[S, D]:
        """The gradient accumulated so far, a raw value."""
        return self._gradients.ref(self._node)

    def __iadd__(self, y: Value[S, D]) -> Self:
        try:
            return self._added("__iadd__", y, y)
        except ShapeError as error:
            trim_traceback(error)
            raise

    def __isub__(self, y: Value[S, D]) -> Self:
        try:
            return self._added("__isub__", y, -y)
        except ShapeError as error:
            trim_traceback(error)
            raise

    def _added(self, operator: str, y: Value[S, D], change: Value[S, D]) -> Self:
        if y.shape != self._node.shape:
            raise ShapeError(messages.other_sizes(f"Accumulator.{operator}", "y", y.shape, self._node.shape))
        self._gradients.add(self._node, change)
        return self


def gradients_only(call: str, grads: object) -> None:
    """Raise unless an argument is the result of a backward pass."""
    if not isinstance(grads, Gradients):
        kind = messages.with_article(type(grads).__name__)
        message = f"{call}: grads is {kind} but Gradients, which backward gives, are expected"
        raise DTypeError(message)


def _all_needed(entries: Iterable[Entry], wanted: set[Node | None]) -> Iterator[Entry]:
    """Yield entries; from the first opaque one on, mark all inputs as wanted, because its outputs are unknown."""
    opaque = False
    for entry in entries:
        opaque = opaque or entry[1] is None
        if opaque:
            wanted.update(entry[2])
        yield entry


def _identity(x: Any) -> Any:
    """Return the node of `x`, the tensor without its tape, which is the key of its gradient."""
    tape = getattr(x, "tape", None)
    return x.node if tape is not None and tape.holds else x


def _without_gradient(x: Node) -> str:
    return messages.without_gradient(str(x.dtype))


def _no_key(x: object) -> str:
    return f"gradients are looked up by tensor, and {messages.with_article(type(x).__name__)} is none"


def _reject_lookup(node: Node) -> NoReturn:
    facts: dict[str, Any] = {"shapes": {"x": node.shape}, "dtypes": {"x": str(node.dtype)}}
    if not node.is_float:
        raise DTypeError(_without_gradient(node), **facts)
    message = f"no gradient for a tensor of shape {show(node.shape)}: not traced, not in wrt=, or not used"
    raise MissingGradientError(message, **facts)


def _reject_shape(call: str, shape: tuple[Any, ...], given: tuple[Any, ...]) -> NoReturn:
    message = messages.conflict(call, "S", shape, "x", given, "gradient")
    raise ShapeError(message, op=call, shapes={"x": shape, "gradient": given})


def _unreached(x: Any) -> str:
    return f"no gradient has reached a tensor of shape {show(x.shape)}"
