"""Gradients by tensor: what closures add up on the way back, and what `backward` returns."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Generic, NoReturn, Self

from typing_extensions import TypeVar, deprecated, override

from tapegrad import messages, tape_repr
from tapegrad.backend import engine
from tapegrad.backend.thresholds import ACCUMULATE_MIN_ELEMENTS
from tapegrad.dims import show
from tapegrad.errors import DTypeError, ShapeError, TapeError, TapegradError
from tapegrad.options import check_range
from tapegrad.tracebacks import public_api, trim_on_exit, trim_traceback

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import numpy as np

    from tapegrad.backend import Value
    from tapegrad.tape import Entry, Node, NoneTape
    from tapegrad.tensor import HasParameters, Tensor

S = TypeVar("S", bound=tuple[Any, ...], default=Any)
S2 = TypeVar("S2", bound=tuple[Any, ...], default=Any)
D = TypeVar("D", bound="np.generic", default=Any)
D2 = TypeVar("D2", bound="np.generic", default=Any)


class MissingGradientError(TapegradError, KeyError):
    """No gradient was computed for this tensor."""

    @override
    def __str__(self) -> str:
        return str(self.args[0])


class Gradients:
    """Gradients by tensor; looking one up gives a tensor of the same shape and dtype."""

    __slots__ = ("_kept", "values_by_node", "wanted")

    def __init__(self) -> None:
        self.values_by_node: dict[Any, Any] = {}
        self.wanted: set[Any] = set()
        self._kept: set[Any] = set()

    def __getitem__(self, x: Tensor[S, Any, D]) -> Tensor[S, NoneTape, D]:
        node = _identity(x)
        try:
            if not node.is_float or node not in self.values_by_node:
                _refuse_lookup(node)
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
        """Return the gradient of `x`, or None where there is none."""
        return self[x] if x in self else None  # noqa: SIM401  # this is that method

    def __contains__(self, x: object) -> bool:
        return _identity(x) in self.values_by_node

    def __iter__(self) -> Iterator[Tensor[Any, NoneTape, Any]]:
        return iter(self.values_by_node)

    def __len__(self) -> int:
        return len(self.values_by_node)

    def wants(self, x: Tensor[Any, Any, Any]) -> bool:
        """Return whether anybody needs the gradient of `x`; a closure asks before it spends time."""
        return x in self.wanted or (x.tape.owns and x.node in self.wanted)

    @public_api
    def ref(self, x: Tensor[S, Any, D]) -> Value[S, D]:
        """Return the gradient accumulated for `x` so far, a raw value, and keep it.

        Raises:
            KeyError: None has reached it.
        """
        node = _identity(x)
        if node not in self.values_by_node:
            raise MissingGradientError(_unreached(x))
        value: Value[S, D] = self.values_by_node[node]
        return value

    @public_api
    def mut(self, x: Tensor[S, Any, D]) -> Accumulator[S, D]:
        """Return the gradient of `x` to add to, `dx += dy`, which starts at zero where none has been added.

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
        """Return the gradient of an operand to add to and that of a result to read: all that a closure needs.

            dx, dy = grads.mut_and_ref(x, y)
            dx += dy * 2.0

        Raises:
            KeyError: None has reached `result`.
            DTypeError: `x` is not a float.
        """
        dy = self.ref(result)
        return self.mut(x), dy

    def remove(self, x: Tensor[S, Any, D]) -> Tensor[S, NoneTape, D] | None:
        """Return the gradient of `x` and forgets it; None where there is none."""
        gradient = self.get(x)
        self.values_by_node.pop(_identity(x), None)
        return gradient

    @public_api
    def replace(self, x: Tensor[S, Any, D], gradient: Tensor[S, NoneTape, D]) -> None:
        """Put `gradient` in the place of what there is for `x`, if anything; never adds.

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
            _refuse_shape("Gradients.replace", node.shape, gradient.shape)
        if gradient.dtype != node.dtype:
            raise DTypeError(
                messages.mixed_dtypes("Gradients.replace", str(node.dtype), "x", str(gradient.dtype), "gradient")
            )
        self.values_by_node[node] = gradient.data

    def add(self, x: Tensor[S, Any, D], gradient: Value[S, D]) -> None:
        """Add `gradient`, a value of `x`'s own shape, to what has been accumulated for `x`.

        Raises:
            ShapeError: The shapes differ; a gradient is never broadcast.
        """
        try:
            if gradient.shape != (x.data.shape if x.is_saved else x.shape):
                _refuse_shape("Gradients.add", x.shape, gradient.shape)
        except ShapeError as error:
            trim_traceback(error)
            raise
        if x.tape.owns:
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
        """Remove and return the accumulated gradient of `x`, the output of the op whose closure asks.

        Raises:
            KeyError: None has reached it. Only a step added by hand, which is never pruned, needs to ask first.
        """
        try:
            value: Any = self.values_by_node[x] if x in self._kept else self.values_by_node.pop(x)
        except KeyError:
            with trim_on_exit:
                raise MissingGradientError(_unreached(x)) from None
        gradient: Value[S, D] = value
        return gradient

    @public_api
    def pop_reusable(self, x: Tensor[S, Any, D]) -> tuple[Value[S, D], bool]:
        """Like `pop_output`, and also return whether the caller may overwrite the array.

        It may where the array is large and nothing else refers to it.
        """
        values = self.values_by_node
        is_ours = x in values and x not in self._kept and values[x].size >= ACCUMULATE_MIN_ELEMENTS
        is_free = is_ours and engine(values[x]).is_free(values, x)
        return self.pop_output(x), is_free

    @public_api
    @deprecated("Gradients.take is called Gradients.pop_output now")
    def take(self, x: Tensor[S, Any, D]) -> Value[S, D]:
        """Return `pop_output(x)`: its old name, which goes with the next release."""
        return self.pop_output(x)

    def norm(self) -> float:
        r"""Return the length of all gradients taken as one vector, $\sqrt{\sum dx^2}$, summed in float64."""
        return math.hypot(*map(_length, self.values_by_node.values()))

    @public_api
    def norms(self, module: HasParameters) -> dict[str, float]:
        """Return the norm of the gradient of each parameter by its path; a parameter without one is left out.

            grads = loss.backward(wrt=model)
            grads.norms(model)  # {"layers.0.weight": 0.23, "layers.0.bias": 0.03}

        Args:
            module: Whose parameters are asked about, and whose paths they go by.
        """
        values = self.values_by_node
        return {path: _length(values[node]) for path, node in module.parameters().items() if node in values}

    def is_finite(self) -> bool:
        """Return whether there is neither an infinity nor a NaN in any gradient."""
        return all(math.isfinite(float(array.min(initial=0)) + float(array.max(initial=0))) for array in self._arrays())

    @public_api
    def clip_norm(self, limit: float) -> Gradients:
        """Return the gradients with `norm` at most `limit`: all of them scaled down alike, or none.

        An infinity or a NaN in any of them makes all of them NaN, which `is_finite` sees. Where gradients are
        differentiated again, the factor is a constant.

        Args:
            limit: The largest norm, above 0.

        Raises:
            ValueError: `limit` is not above 0.
            DTypeError: It is not a number.

        Source:
            Pascanu et al., [On the difficulty of training recurrent neural networks](https://arxiv.org/abs/1211.5063),
            algorithm 1; PyTorch adds 1e-6 to the norm, and so stays a little below the limit.
        """
        check_range("clip_norm", "limit", limit, "above 0", lambda limit: limit > 0)
        if any(hasattr(_array(value), "like") for value in self.values_by_node.values()):
            return self._shrunk(limit)
        norm = self.norm()
        if norm <= limit:
            return self._mapped(lambda value: value)
        factor = limit / norm if math.isfinite(norm) else math.nan
        return self._mapped(lambda value: value * factor)

    @public_api
    def clip_value(self, limit: float) -> Gradients:
        """Return the gradients with each element between `-limit` and `limit`; a NaN stays one.

        Args:
            limit: The largest absolute value, above 0.

        Raises:
            ValueError: `limit` is not above 0.
            DTypeError: It is not a number.
        """
        check_range("clip_value", "limit", limit, "above 0", lambda limit: limit > 0)
        return self._mapped(lambda value: _array(value).clip(-limit, limit))

    def _shrunk(self, limit: float) -> Gradients:
        """Clip the norm where `jit` traces, and no number can be asked for."""
        import numpy as np

        arrays = [_array(value) for value in self.values_by_node.values()]
        wide = [array.astype(np.float64) for array in arrays]
        norm: Any = sum((array * array).sum() for array in wide) ** 0.5
        finite: Any = np.where(np.isfinite(norm), limit / norm, math.nan)
        factor: Any = np.where(norm <= limit, 1.0, finite)
        return self._mapped(lambda value: value * factor.astype(_array(value).dtype))

    def _mapped(self, change: Callable[[Any], Any]) -> Gradients:
        changed = Gradients()
        changed.values_by_node = {node: change(value) for node, value in self.values_by_node.items()}
        return changed

    def _arrays(self) -> Iterator[Any]:
        return map(_wide, self.values_by_node.values())

    def _want(
        self, targets: Iterable[Node], kept: Iterable[Node], entries: Iterable[Entry], *, has_opaque: bool
    ) -> None:
        """Mark every tensor on a way from a target to the result."""
        wanted: set[Node | None] = set(targets)
        self.wanted, self._kept = wanted, {*wanted, *kept}
        is_apart, add = wanted.isdisjoint, wanted.add
        if has_opaque:
            entries = _all_needed(entries, wanted)
        for _, out, inputs, _ in entries:
            if not is_apart(inputs):
                add(out)

    def _finish(self) -> None:
        """Forget what was needed on the way only, and hold the rest to its type."""
        values = self.values_by_node
        for node in values.keys() - self._kept:
            del values[node]
        for node, value in values.items():
            dtype = node.data.dtype if node.is_saved else node.dtype  # reading an unsaved value would compute it
            if value.dtype is not dtype and value.dtype != dtype:
                raise DTypeError(
                    messages.mixed_dtypes("Gradients.add", str(node.dtype), "x", str(value.dtype), "gradient")
                )
        self.wanted, self._kept = set(), set()

    @override
    def __repr__(self) -> str:
        shapes = tape_repr.listed(list(self.values_by_node), lambda node: show(node.shape))
        return f"Gradients({shapes})" if len(self) <= 2 * tape_repr.SHOWN else f"Gradients({len(self)}: {shapes})"


class Accumulator(Generic[S, D]):
    """The gradient of one tensor, to add to: `dx += dy` and `dx -= dy` change what the gradients hold of it."""

    __slots__ = ("_gradients", "_node")

    def __init__(self, gradients: Gradients, node: Tensor[S, NoneTape, D]) -> None:
        self._gradients = gradients
        self._node = node

    @property
    def value(self) -> Value[S, D]:
        """What has been accumulated so far, a raw value."""
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


def _all_needed(entries: Iterable[Entry], wanted: set[Node | None]) -> Iterator[Entry]:
    """Return entries, and mark what those read that come after an opaque one: nobody knows what it passes on."""
    opaque = False
    for entry in entries:
        opaque = opaque or entry[1] is None
        if opaque:
            wanted.update(entry[2])
        yield entry


def _identity(x: Any) -> Any:
    """Return the tapeless tensor that `x` is, whatever tape it carries: what gradients are looked up by."""
    tape = getattr(x, "tape", None)
    return x.node if tape is not None and tape.owns else x


def _without_gradient(x: Node) -> str:
    return messages.without_gradient(str(x.dtype))


def _no_key(x: object) -> str:
    return f"gradients are looked up by tensor, and {messages.with_article(type(x).__name__)} is none"


def _refuse_lookup(node: Node) -> NoReturn:
    facts: dict[str, Any] = {"shapes": {"x": node.shape}, "dtypes": {"x": str(node.dtype)}}
    if not node.is_float:
        raise DTypeError(_without_gradient(node), **facts)
    message = f"no gradient for a tensor of shape {show(node.shape)}: not traced, not in wrt=, or not used"
    raise MissingGradientError(message, **facts)


def _refuse_shape(call: str, shape: tuple[Any, ...], given: tuple[Any, ...]) -> NoReturn:
    message = messages.conflict(call, "S", shape, "x", given, "gradient")
    raise ShapeError(message, op=call, shapes={"x": shape, "gradient": given})


def _unreached(x: Any) -> str:
    return f"no gradient has reached a tensor of shape {show(x.shape)}"


def _array(value: Any) -> Any:
    """Return what a gradient is made of, in the end, where it was differentiated again and so is a tensor itself."""
    while hasattr(value, "tape"):
        value = value.data
    return value


def _wide(value: Any) -> Any:
    """Return a gradient in float64, where no square of a float32 overflows."""
    import numpy as np

    return np.asarray(_array(value), np.float64)


def _length(value: Any) -> float:
    array = _wide(value)
    return math.sqrt(float((array * array).sum()))
