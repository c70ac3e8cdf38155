"""The tape with manual recording by slot number."""

from __future__ import annotations

from threading import RLock
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from typing_extensions import override

from tapegrad import ops
from tapegrad.autograd.locks import open_in_children
from tapegrad.autograd.mermaid import bundle, flow
from tapegrad.autograd.tape_repr import counted, listed
from tapegrad.errors import ShapeError, TapeError, messages
from tapegrad.errors.tracebacks import public_api
from tapegrad.sizes import show
from tapegrad.slot_tape.checks import (
    Array,
    Slot,
    check_alike,
    check_buffers,
    check_finite,
    check_floats,
    check_length,
    check_moment,
    floats,
)
from tapegrad.slot_tape.pullback import Pullback, Unseen, of_function, of_op

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tapegrad.tensors import Tensor

EPS: Final = 1e-5  # added to the variance by layer norm


class Step(NamedTuple):
    """One recorded op: the slot of its result, and how its gradient reaches the slots of its operands."""

    inputs: tuple[int, ...]
    slot: int
    pull: Pullback


@public_api
class SlotTape:
    """Records which op computed which slot from which others, and fills a gradient buffer for each slot.

    A slot is a number of elements; an array of any shape represents its elements in row-major order. The caller
    computes, in NumPy or elsewhere, and passes the values that the backward pass needs, which are copied. The gradients
    are those of the library's ops: for `add`, `mul` and `matmul` only the backward closure runs, while `silu`,
    `layer_norm` and `ssm_scan`, whose gradients need more than the caller passes, are recomputed in the backward pass.

        tape = SlotTape()
        x, w = tape.leaf(x_data), tape.leaf(w_data)
        tape.record_mul(x, x_data, w, w_data)
        gradients = [np.zeros(5) for _ in range(tape.num_tensors)]
        tape.backward(np.ones(5), gradients)

    Every method raises a `ShapeError` if the length of an array differs from that of its slot or two lengths that must
    be equal differ, a `DTypeError` if an array is not a float array or has another dtype than its slot, and a
    `TapeError` if a slot is not on this tape. A call that raises records nothing.

    Examples:
        >>> x_data, w_data = np.array([1.0, 2.0, 3.0]), np.array([0.5, -1.0, 2.0])
        >>> tape = tg.slot_tape.SlotTape()
        >>> x, w = tape.leaf(x_data), tape.leaf(w_data)
        >>> y = tape.record_mul(x, x_data, w, w_data)
        >>> gradients = [np.zeros(3) for _ in range(tape.num_tensors)]
        >>> tape.backward(np.ones(3), gradients)
        >>> gradients[x].tolist(), gradients[w].tolist()
        ([0.5, -1.0, 2.0], [1.0, 2.0, 3.0])
    """

    def __init__(self) -> None:
        self._slots: list[Slot] = []
        self._steps: list[Step] = []

    @property
    def num_tensors(self) -> int:
        """The number of slots, and so the number of gradient buffers that `backward` requires."""
        return len(self._slots)

    def leaf(self, value: Array) -> int:
        """Return a new slot for a value that is not the result of an op.

        Args:
            value: Any shape, a float dtype; only its length and dtype matter.
        """
        check_floats("leaf", value, "value")
        return self._new_slot("leaf", value.size, value.dtype)

    def record_add(self, a: int, b: int) -> int:
        """Record an elementwise sum.

            y = a + b
            da = db = dy

        Args:
            a: A slot.
            b: A slot of the same length.

        Returns:
            The slot of the sum, of that length.
        """
        x, y = self._slot("record_add", a, "a"), self._slot("record_add", b, "b")
        check_alike("record_add", x, y)
        pull = of_op(ops.add, Unseen((x.length,), x.dtype), Unseen((y.length,), y.dtype))
        return self._record("add", (a, b), x, pull)

    def record_mul(self, a: int, a_data: Array, b: int, b_data: Array) -> int:
        """Record an elementwise product.

            y = a b
            da = b dy
            db = a dy

        Args:
            a: A slot.
            a_data: Its value.
            b: A slot of the same length.
            b_data: Its value.

        Returns:
            The slot of the product, of that length.
        """
        x, y = self._value("record_mul", a, a_data, "a"), self._value("record_mul", b, b_data, "b")
        check_alike("record_mul", self._slots[a], self._slots[b])
        return self._record("mul", (a, b), self._slots[a], of_op(ops.mul, x.reshape(-1), y.reshape(-1)))

    def record_matmul(self, a: int, a_mat: Array, b: int, b_mat: Array) -> int:
        """Record a matrix product.

            y[n,m] = ∑_k a[n,k] b[k,m]
            da = dy bᵀ
            db = aᵀ dy

        Args:
            a: A slot.
            a_mat: Its value, `(N, K)`.
            b: A slot.
            b_mat: Its value, `(K, M)`.

        Returns:
            The slot of the product, flattened, of length N M.
        """
        x, y = self._value("record_matmul", a, a_mat, "a"), self._value("record_matmul", b, b_mat, "b")
        check_alike("record_matmul", self._slots[a], self._slots[b], by_length=False)
        if x.ndim != 2:
            raise ShapeError(messages.wrong_rank("record_matmul", "a_mat", x.shape, ("N", "K")))
        if y.ndim != 2:
            raise ShapeError(messages.wrong_rank("record_matmul", "b_mat", y.shape, ("K", "M")))
        pull = of_op(ops.matmul, x, y)
        return self._record("matmul", (a, b), Slot("matmul", x.shape[0] * y.shape[1], x.dtype), pull)

    def record_silu(self, x: int, x_data: Array) -> int:
        """Record a sigmoid linear unit.

            y = x σ(x)
            dx = (σ(x) + y (1 - σ(x))) dy

        Args:
            x: A slot.
            x_data: Its value.

        Returns:
            The slot of the result, of the length of `x`.
        """
        value = self._value("record_silu", x, x_data, "x")
        return self._record("silu", (x,), self._slots[x], of_function(ops.silu, value))

    def record_layer_norm(
        self, x: int, mean: Array | float, var: Array | float, scale: Array, x_data: Array | None = None
    ) -> int:
        """Record a layer norm: each row is standardized to mean 0 and variance 1, then scaled.

            y = s x̂
            x̂ = r (x - μ)
            r = 1 / √(σ² + 10⁻⁵)

            dx = r (g - ḡ - x̂ mean(g x̂))
            g = s dy

        Without `x_data` the last term, the derivative through the variance, is omitted: the gradient is then
        `r (g - ḡ)`, that of a normalization by a variance that does not depend on `x`.

        Args:
            x: A slot, of N rows of C elements.
            mean: The mean μ of each row, N of them; one may be a number.
            var: The biased variance σ² of each row, N of them.
            scale: The factor s of each column, C of them. It is not a slot, and gets no gradient.
            x_data: The value of `x`, from which `mean` and `var` were computed.

        Returns:
            The slot of the result, of the length of `x`.

        Raises:
            ValueError: `mean` or `var` is not that of `x_data`, or a variance is negative.
        """
        call, slot = "record_layer_norm", self._slot("record_layer_norm", x, "x")
        given = {"mean": mean, "var": var, "scale": scale}
        means, variances, scales = (floats(call, given[name], name, slot.dtype).reshape(-1) for name in given)
        rows, columns = means.size, scales.size
        if variances.size != rows or rows * columns != slot.length:
            message = (
                f"{call}: {rows} means, {variances.size} variances and {columns} scales "
                f"do not make up slot {x}, which has {slot.length} elements"
            )
            raise ShapeError(message)
        if (variances < 0).any():
            message = f"{call}: a variance is {variances.min():.6g} but must be at least 0"
            raise ValueError(message)
        if x_data is None or not slot.length:
            derivative = scales / np.sqrt(variances.reshape((rows, 1)) + slot.dtype.type(EPS))
            anywhere = np.zeros((rows, columns), slot.dtype)  # a linear function has the same gradient everywhere
            return self._record("layer_norm", (x,), slot, of_function(lambda x: _centred(x) * derivative, anywhere))
        value = self._value(call, x, x_data, "x").reshape((rows, columns))
        largest = np.abs(value).max().astype(np.float64)
        check_moment("mean", means, value.mean(1), largest)
        check_moment("var", variances, value.var(1), largest * largest)
        return self._record("layer_norm", (x,), slot, of_function(lambda x: ops.normalize(x, eps=EPS) * scales, value))

    def record_ssm_scan(
        self,
        x: int,
        a_vals: Array,
        b_vals: Array,
        *,
        x_data: Array | None = None,
        a: int | None = None,
        b: int | None = None,
    ) -> int:
        """Record a diagonal recurrence along the first axis.

            h[t] = a[t] h[t-1] + b[t] x[t]
            λ[t] = dh[t] + a[t+1] λ[t+1]

            dx[t] = λ[t] b[t]
            da[t] = λ[t] h[t-1]
            db[t] = λ[t] x[t]

        Args:
            x: A slot.
            a_vals: The decay of the previous state, one for each step, or `(T, ...)`, a row of channels for each step.
            b_vals: The factor of the input, of the shape of `a_vals`.
            x_data: The value of `x`; without it neither da nor db is computed.
            a: The slot of `a_vals`, if its gradient is needed.
            b: The slot of `b_vals`, if its gradient is needed.

        Returns:
            The slot of all states, of the length of `x`.
        """
        call, slot = "record_ssm_scan", self._slot("record_ssm_scan", x, "x")
        for name, number in {"a": a, "b": b}.items():
            if number is not None and x_data is None:
                message = f"{call}: {name} is slot {number}, whose gradient needs x_data"
                raise TapeError(message)
        decay = self._of_slot_or_none(call, a, a_vals, "a", slot.dtype)
        gain = self._of_slot_or_none(call, b, b_vals, "b", slot.dtype)
        if decay.shape != gain.shape or decay.size != slot.length or not decay.ndim:
            message = (
                f"{call}: a_vals is {show(decay.shape)} and b_vals is {show(gain.shape)} "
                f"but slot {x} has {slot.length} elements"
            )
            raise ShapeError(message)
        # dx depends only on a and b, so any x will do if only dx is needed.
        value = np.zeros(slot.length, slot.dtype) if x_data is None else self._value(call, x, x_data, "x")
        slots = {position: number for position, number in enumerate((a, b, x)) if number is not None}
        pull = of_function(ops.ssm_scan, decay, gain, value.reshape(decay.shape), wanted=[*slots])
        return self._record("ssm_scan", tuple(slots.values()), slot, pull)

    def backward(self, loss_grad: Array | float, tensors: Sequence[Array]) -> None:
        """Add to each buffer the gradient of its slot; the newest slot is the loss.

        Calling it twice doubles the gradients. If it raises, all buffers are unchanged.

        Args:
            loss_grad: The gradient of the newest slot, of its length.
            tensors: A buffer for each slot, in order, of the length and dtype of the slot and initially zero. Further
                buffers are left unchanged.

        Raises:
            NumericalInstabilityError: A gradient, that of a leaf included, has a NaN or an infinity.
            ShapeError: There are fewer buffers than slots, or a buffer has another length than its slot.
            DTypeError: A buffer has another dtype than its slot.
            TapeError: There is no slot, or two slots share a buffer.
            ValueError: A buffer is read-only.
        """
        if not self._slots:
            message = "backward: nothing is recorded"
            raise TapeError(message)
        check_buffers(self._slots, tensors)
        totals: dict[int, Array] = {}
        gradients = self._gradients(loss_grad)
        with _WRITING:
            for number, gradient in gradients.items():
                with np.errstate(all="ignore"):
                    totals[number] = tensors[number] + gradient.reshape(tensors[number].shape)
                check_finite(totals[number], "buffers", number)
            for number, total in totals.items():
                tensors[number][...] = total

    def graph(self) -> str:
        """Return the tape as a Mermaid graph, with arrows from operands to results."""
        return flow(self._boxes(), ((slot, step.slot) for step in self._steps for slot in step.inputs))

    @override
    def __repr__(self) -> str:
        return f"SlotTape({listed(self._boxes(), str)})"

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return bundle(repr(self), self.graph())

    def _boxes(self) -> list[str]:
        return [f"{number}: {slot.op} ({slot.length},)" for number, slot in enumerate(self._slots)]

    def _gradients(self, loss_grad: Array | float) -> dict[int, Array]:
        """Return the gradient of each slot that the loss depends on."""
        last = self.num_tensors - 1
        seed = floats("backward", loss_grad, "loss_grad", self._slots[last].dtype)
        check_length("backward", seed, "loss_grad", last, self._slots[last])
        check_finite(seed, "loss", last)
        gradients = {last: seed.reshape(-1)}
        for inputs, slot, pull in reversed(self._steps):
            if slot not in gradients:
                continue
            with np.errstate(all="ignore"):  # an overflow is rejected below, with the op and the slot
                for number, gradient in zip(inputs, pull(gradients[slot]), strict=True):
                    flat = gradient.reshape(-1)
                    gradients[number] = gradients[number] + flat if number in gradients else flat
            for number in inputs:
                check_finite(gradients[number], self._slots[slot].op, number)
        return gradients

    def _slot(self, call: str, number: int, name: str) -> Slot:
        if isinstance(number, bool) or not isinstance(number, int | np.integer):
            kind = messages.with_article(type(number).__name__)
            message = f"{call}: {name} is {kind} but the number of a slot is expected"
            raise TapeError(message)
        if not 0 <= number < len(self._slots):
            message = f"{call}: {name} is slot {number} but the tape has {counted(len(self._slots), 'slot')}"
            raise TapeError(message)
        return self._slots[number]

    def _value(self, call: str, number: int, value: Array, name: str) -> Array:
        """Return a copy of the value of a slot."""
        slot = self._slot(call, number, name)
        copy = floats(call, value, name, slot.dtype)
        check_length(call, copy, name, number, slot)
        return copy

    def _of_slot_or_none(self, call: str, number: int | None, value: Array, name: str, dtype: np.dtype[Any]) -> Array:
        copy = floats(call, value, f"{name}_vals", dtype)
        if number is not None:
            check_length(call, copy, f"{name}_vals", number, self._slot(call, number, name))
        return copy

    def _new_slot(self, op: str, length: int, dtype: np.dtype[Any]) -> int:
        with _WRITING:
            self._slots.append(Slot(op, length, dtype))
            return len(self._slots) - 1

    def _record(self, op: str, inputs: tuple[int, ...], like: Slot, pull: Pullback) -> int:
        with _WRITING:  # backward goes through the steps in the order of their slots
            slot = self._new_slot(op, like.length, like.dtype)
            self._steps.append(Step(inputs, slot, pull))
            return slot

    def __copy__(self) -> SlotTape:
        other = SlotTape()
        with _WRITING:
            other._slots, other._steps = [*self._slots], [*self._steps]
        return other

    def __deepcopy__(self, _: object) -> SlotTape:
        return self.__copy__()  # slots and steps are immutable

    @override
    def __reduce__(self) -> Any:
        if self._slots:
            message = "a tape of slots cannot be pickled; record it where it is needed"
            raise TapeError(message)
        return SlotTape, ()


_WRITING: Final = open_in_children(RLock())  # threads may record on one tape, and add to one set of buffers


def _centred(x: Tensor[Any, Any, Any]) -> Tensor[Any, Any, Any]:
    return x - ops.mean(x, -1, keepdims=True)
