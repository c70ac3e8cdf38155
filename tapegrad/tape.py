"""Gradient tapes: which operations happened, and how to run them backwards.

A tensor's type says which tape it carries. `NoneTape` records nothing; `OwnedTape` holds a `GradientTape`.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable, Iterable
from itertools import count
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, NoReturn, Self, TypeAlias

from typing_extensions import TypeAliasType, TypeVar, override

from tapegrad import sentences
from tapegrad.dims import show
from tapegrad.errors import DTypeError, ShapeError, TapeError

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np

    from tapegrad.backend import Value
    from tapegrad.tensor import Tensor

S = TypeVar("S", bound=tuple[Any, ...], default=Any)
D = TypeVar("D", bound="np.generic", default=Any)


Node: TypeAlias = "Tensor[Any, NoneTape, Any]"  # what gradients are looked up by: a tensor without its tape
Pullback: TypeAlias = Callable[["Gradients"], None]
Entry: TypeAlias = "tuple[int, Node | None, tuple[Node, ...], Pullback]"

_clock = count()


class Tape:
    """Either kind of tape."""

    __slots__ = ()

    owns: ClassVar[bool]

    def record(self, out: Tensor[S, NoneTape, D], inputs: tuple[Node, ...], backward: Pullback) -> Tensor[S, Self, D]:
        """Returns `out` with this tape on it, after noting how its gradient reaches `inputs`."""
        raise NotImplementedError


T1 = TypeVar("T1", bound=Tape, default=Any)
T2 = TypeVar("T2", bound=Tape, default=Any)

# Other checkers see Any; the plugin reads the name before the alias expands and puts a `Merged` in its place.
Merge = TypeAliasType("Merge", Any, type_params=(T1, T2))
"""`Merge[T1, T2]` is the tape of a result of two operands: `NoneTape` if both of theirs are, else `OwnedTape`."""


class NoneTape(Tape):
    """The tape of a tensor that nobody differentiates: it records nothing and costs nothing."""

    __slots__ = ()

    owns = False

    @override
    def record(
        self, out: Tensor[S, NoneTape, D], inputs: tuple[Node, ...], backward: Pullback
    ) -> Tensor[S, NoneTape, D]:
        return out

    @override
    def __reduce__(self) -> str:
        return "NONE"  # a copied or unpickled tensor has this very one

    @override
    def __repr__(self) -> str:
        return "NoneTape()"


class Merged(Tape, Generic[T1, T2]):
    """What the plugin knows the tape of a result by until both tapes are known; nothing is ever made of it."""


class OwnedTape(Tape):
    """The tape of a traced tensor; all tensors computed from it share it."""

    __slots__ = ("_tape",)

    owns = True

    def __init__(self, tape: GradientTape | None = None) -> None:
        self._tape = GradientTape() if tape is None else tape

    @property
    def tape(self) -> GradientTape:
        """The operations recorded so far."""
        while self._tape.merged_into is not None:
            self._tape = self._tape.merged_into
        return self._tape

    def merge(self, other: OwnedTape) -> OwnedTape:
        """Joins two tapes into one that both operands share from now on; a tape merged with itself stays itself."""
        if self._tape is not other._tape:
            into, away = self.tape, other.tape
            if len(into) < len(away):
                into, away = away, into
            into.absorb(away)
            other._tape = self._tape = into
        return self

    @override
    def record(
        self, out: Tensor[S, NoneTape, D], inputs: tuple[Node, ...], backward: Pullback
    ) -> Tensor[S, OwnedTape, D]:
        tape = self._tape if self._tape.merged_into is None else self.tape
        if tape.consumed_at is not None:
            tape.refuse()
        for x in inputs:
            if x.version is not None:
                tape.watched.setdefault(x, x.version)
        tape.entries.append((next(_clock), out, inputs, backward))
        return out.put_tape(self)

    @override
    def __reduce__(self) -> NoReturn:
        message = "a tensor with a tape cannot be copied or pickled; detach it first"
        raise TapeError(message)

    @override
    def __repr__(self) -> str:
        return f"OwnedTape({self.tape!r})"


class ConsumedTape(OwnedTape):
    """What the plugin narrows a tape to after `backward`; at run time the tape itself knows."""


class GradientTape:
    """The operations of one forward pass, in the order in which they ran."""

    __slots__ = ("_shuffled", "consumed_at", "entries", "gradients", "leaves", "merged_into", "watched")

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.leaves: dict[Node, None] = {}  # traced float tensors: they get gradients unless `wrt` says otherwise
        self.watched: dict[Node, int] = {}  # parameters used, and the version each had at its first use
        self.gradients: Gradients | None = None  # what `trace(grads=...)` goes on accumulating into
        self.consumed_at: str | None = None
        self.merged_into: GradientTape | None = None
        self._shuffled = False

    def __len__(self) -> int:
        return len(self.entries)

    def add_backward_op(self, op: Pullback) -> None:
        """Records a step of the way back that only its writer understands; it is never pruned."""
        if self.consumed_at is not None:
            self.refuse()
        self.entries.append((next(_clock), None, (), op))

    def append(self, other: GradientTape) -> None:
        """Moves all that `other` holds here and leaves it empty; the clock keeps the order."""
        if other is self:
            return
        for tape in (self, other):
            if tape.consumed_at is not None:
                tape.refuse()
        self._shuffled = self._shuffled or other._shuffled or bool(self.entries and other.entries)
        self.entries += other.entries
        self.leaves |= other.leaves
        self.watched = other.watched | self.watched
        self.gradients = _summed(self.gradients, other.gradients)
        other.entries, other.leaves, other.watched, other.gradients = [], {}, {}, None

    def absorb(self, other: GradientTape) -> None:
        """Moves all that `other` holds here, and all that it will be asked to hold."""
        if other is not self:
            self.append(other)
            other.merged_into = self

    def execute(self, grads: Gradients | None = None) -> Gradients:
        """Runs everything recorded, newest first, and consumes the tape.

        Args:
            grads: Where gradients accumulate, the seed among them; an empty one of its own by default.

        Returns:
            `grads`, with the gradient of every traced float tensor and parameter that was reached.

        Raises:
            TapeError: The tape has been consumed, or a parameter has changed since it was recorded.
        """
        if self.consumed_at is not None:
            self.refuse()
        self._check_versions()
        if self._shuffled:
            self.entries.sort(key=lambda entry: entry[0])
        if grads is None:
            grads = Gradients() if self.gradients is None else self.gradients
        grads.want(self._default_targets(), self.entries)
        self.consumed_at = where_called()
        values, entries = grads.values_by_node, self.entries
        while entries:
            _, out, _, backward = entries.pop()
            if out is None or out in values:
                backward(grads)
        grads.finish()
        self.leaves, self.watched = {}, {}
        return grads

    def backward(self, x: Node, seed: Any, wrt: Iterable[Any] | None) -> Gradients:
        """Runs the tape backwards from `x`, whose own gradient is `seed`, and returns the gradients of `wrt`."""
        if self.consumed_at is not None:
            self.refuse()
        grads = Gradients() if self.gradients is None else self.gradients
        grads.target(wrt)
        grads.seed(x, seed)
        return self.execute(grads)

    def refuse(self) -> NoReturn:
        """Says where the tape was consumed."""
        message = f"the tape was consumed by backward at {self.consumed_at}; trace again for another gradient"
        raise TapeError(message)

    def _default_targets(self) -> list[Node]:
        return [*self.leaves, *(node for node in self.watched if not node.frozen)]

    def _check_versions(self) -> None:
        for node, version in self.watched.items():
            if node.version != version:
                message = (
                    f"a parameter of shape {node.shape} was assigned after the forward pass used it: "
                    f"version {version} was recorded, version {node.version} is there"
                )
                raise TapeError(message)

    @override
    def __repr__(self) -> str:
        if self.consumed_at is not None:
            return f"GradientTape(consumed at {self.consumed_at})"
        return f"GradientTape({len(self)} ops)"


class MissingGradientError(KeyError):
    """No gradient was computed for this tensor."""

    @override
    def __str__(self) -> str:
        return str(self.args[0])


class Gradients:
    """Gradients by tensor; looking one up gives a tensor of the same shape and dtype."""

    __slots__ = ("_kept", "_seeded", "_targets", "values_by_node", "wanted")

    def __init__(self) -> None:
        self.values_by_node: dict[Any, Any] = {}
        self.wanted: set[Any] = set()
        self._targets: tuple[Node, ...] | None = None
        self._kept: set[Any] = set()
        self._seeded: set[Any] = set()

    def __getitem__(self, x: Tensor[S, Any, D]) -> Tensor[S, NoneTape, D]:
        node = _identity(x)
        if not node.is_float:
            message = f"a tensor of dtype {node.dtype} has no gradient"
            raise DTypeError(message)
        if node not in self.values_by_node:
            message = f"no gradient for a tensor of shape {show(x.shape)}: not traced, not in wrt=, or not used"
            raise MissingGradientError(message)
        gradient: Tensor[S, NoneTape, D] = node.with_data(self.values_by_node[node])
        return gradient

    def get(self, x: Tensor[S, Any, D]) -> Tensor[S, NoneTape, D] | None:
        """Returns the gradient of `x`, or None where there is none."""
        return self[x] if x in self else None  # noqa: SIM401  # this is that method

    def __contains__(self, x: object) -> bool:
        return _identity(x) in self.values_by_node

    def __iter__(self) -> Iterator[Tensor[Any, NoneTape, Any]]:
        return iter(self.values_by_node)

    def __len__(self) -> int:
        return len(self.values_by_node)

    def wants(self, x: Tensor[Any, Any, Any]) -> bool:
        """Says whether anybody needs the gradient of `x`; a closure asks before it spends time."""
        return x in self.wanted or (x.tape is not NONE and x.handle in self.wanted)

    def add(self, x: Tensor[S, Any, D], gradient: Value[S, D]) -> None:
        """Adds `gradient`, a value of `x`'s own shape, to what has been accumulated for `x`.

        Raises:
            ShapeError: The shapes differ; a gradient is never broadcast.
        """
        if gradient.shape != x.data.shape:
            raise ShapeError(sentences.conflict("Gradients.add", "S", x.shape, "x", gradient.shape, "gradient"))
        if x.tape is not NONE:
            x = x.handle
        values = self.values_by_node
        values[x] = values[x] + gradient if x in values else gradient

    def take(self, x: Tensor[S, Any, D]) -> Value[S, D]:
        """Returns the accumulated gradient of `x`, a closure's own output, and gives it up.

        Raises:
            KeyError: None has reached it. Only a step added by hand, which is never pruned, needs to ask first.
        """
        try:
            value: Any = self.values_by_node[x] if x in self._kept else self.values_by_node.pop(x)
        except KeyError:
            message = f"no gradient has reached a tensor of shape {show(x.shape)}"
            raise MissingGradientError(message) from None
        gradient: Value[S, D] = value
        return gradient

    def norm(self) -> float:
        r"""Returns the length of all gradients taken as one vector, $\sqrt{\sum dx^2}$, summed in float64."""
        return math.hypot(*(float((array * array).sum()) ** 0.5 for array in self._arrays()))

    def is_finite(self) -> bool:
        """Says whether there is neither an infinity nor a NaN in any gradient."""
        return all(math.isfinite(float(array.min(initial=0)) + float(array.max(initial=0))) for array in self._arrays())

    def clip_norm(self, limit: float) -> Gradients:
        """Returns the gradients with `norm` at most `limit`: all of them scaled down alike, or none.

        An infinity or a NaN in any of them makes all of them NaN, which `is_finite` sees. Where gradients are
        differentiated again, the factor is a constant.

        Args:
            limit: The largest norm, above 0.

        Raises:
            ValueError: `limit` is not above 0.

        Source:
            Pascanu et al., [On the difficulty of training recurrent neural networks](https://arxiv.org/abs/1211.5063),
            algorithm 1; PyTorch adds 1e-6 to the norm, and so stays a little below the limit.
        """
        _check_limit("clip_norm", limit)
        norm = self.norm()
        if norm <= limit:
            return self._mapped(lambda value: value)
        factor = limit / norm if math.isfinite(norm) else math.nan
        return self._mapped(lambda value: value * factor)

    def clip_value(self, limit: float) -> Gradients:
        """Returns the gradients with each element between `-limit` and `limit`; a NaN stays one.

        Args:
            limit: The largest absolute value, above 0.

        Raises:
            ValueError: `limit` is not above 0.
        """
        _check_limit("clip_value", limit)
        return self._mapped(lambda value: _array(value).clip(-limit, limit))

    def _mapped(self, change: Callable[[Any], Any]) -> Gradients:
        changed = Gradients()
        changed.values_by_node = {node: change(value) for node, value in self.values_by_node.items()}
        return changed

    def _arrays(self) -> Iterator[Any]:
        """Gives every gradient in float64, where no square of a float32 overflows."""
        import numpy as np

        return (np.asarray(_array(value), np.float64) for value in self.values_by_node.values())

    def target(self, wrt: Iterable[Any] | None) -> None:
        """Names the tensors whose gradients are asked for; None stands for the traced ones."""
        self._targets = None if wrt is None else tuple(map(_identity, wrt))
        for node in self._targets or ():
            if node.data.dtype.kind != "f":
                message = f"wrt names a tensor of dtype {node.dtype}, which has no gradient"
                raise DTypeError(message)

    def seed(self, x: Any, value: Any) -> None:
        """Starts the way back: `value` is the gradient of `x`, needed on the way only."""
        self.add(x, value)
        self._seeded.add(x)

    def want(self, default: Iterable[Node], entries: list[Entry]) -> None:
        """Marks every tensor on a way from a target to the result."""
        targets = tuple(default) if self._targets is None else self._targets
        wanted: set[Node | None] = set(targets)
        self.wanted = wanted
        self._kept = wanted | (self.values_by_node.keys() - self._seeded)
        opaque, is_apart, add = False, wanted.isdisjoint, wanted.add
        for _, out, inputs, _ in entries:
            if out is None:
                opaque = True  # nobody knows what such a step passes on, so all that follows is needed
            if opaque:
                wanted.update(inputs)
            if not is_apart(inputs):
                add(out)

    def finish(self) -> None:
        """Forgets what was needed on the way only."""
        for node in self.values_by_node.keys() - self._kept:
            del self.values_by_node[node]
        self.wanted, self._seeded = set(), set()

    @override
    def __repr__(self) -> str:
        shapes = ", ".join(str(node.shape) for node in self.values_by_node)
        return f"Gradients({shapes})"


NONE: Final = NoneTape()


def where_called() -> str:
    """Returns file and line of the innermost caller outside tapegrad."""
    house = __file__.removesuffix("tape.py")
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(house):
        frame = frame.f_back
    return f"{frame.f_code.co_filename.rpartition(os.sep)[2]}:{frame.f_lineno}"


def _identity(x: Any) -> Any:
    """Returns the tapeless tensor that `x` is, whatever tape it carries: what gradients are looked up by."""
    return x if getattr(x, "tape", NONE) is NONE else x.handle


def _array(value: Any) -> Any:
    """Returns what a gradient is made of, in the end, where it was differentiated again and so is a tensor itself."""
    while hasattr(value, "tape"):
        value = value.data
    return value


def _check_limit(call: str, limit: float) -> None:
    if not limit > 0:
        message = f"{call}: limit is {limit} but must be above 0"
        raise ValueError(message)


def _summed(ours: Gradients | None, theirs: Gradients | None) -> Gradients | None:
    if ours is None or theirs is None or ours is theirs:
        return theirs if ours is None else ours
    for node, value in theirs.values_by_node.items():
        ours.add(node, value)
    return ours
