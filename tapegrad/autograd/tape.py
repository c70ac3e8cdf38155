"""Gradient tapes: they record operations and run the backward pass.

The type of a tensor includes its tape. `NoneTape` records nothing; `OwnedTape` holds a `GradientTape`.
"""

from __future__ import annotations

import os
import sys
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from itertools import count
from operator import itemgetter
from threading import Lock
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, Generic, NoReturn, Self, TypeAlias

from numpy import ndarray
from typing_extensions import TypeAliasType, TypeVar, override

from tapegrad.autograd import tape_repr
from tapegrad.autograd.gradients import Gradients, gradients_only
from tapegrad.autograd.locks import open_in_children
from tapegrad.autograd.mermaid import bundle
from tapegrad.engines.underflow import ignore_underflow
from tapegrad.errors import DTypeError, SingularError, TapeError, TapegradError, messages
from tapegrad.errors.messages import with_article

if TYPE_CHECKING:
    import numpy as np

    from tapegrad.autograd.parameter_tape import ParameterTape
    from tapegrad.tensors import Tensor

S = TypeVar("S", bound=tuple[Any, ...], default=Any)
D = TypeVar("D", bound="np.generic", default=Any)


Node: TypeAlias = "Tensor[Any, NoneTape, Any]"  # a tensor without its tape, the key of its gradient
Pullback: TypeAlias = Callable[["Gradients"], None]
Entry: TypeAlias = "tuple[int, Node | None, tuple[Node, ...], Pullback]"

_NO_TIMES: Final[frozenset[int]] = frozenset()
_NO_NODES: Final[frozenset[Any]] = frozenset()
_BATCH_SIZE: Final = 16  # entries released per batch in the backward pass (benchmarks/devices.py, "batches of entries")
# Bytes from which on an unsaved value is released; 0 under test, so that tests find a closure that reads such a value.
RELEASE_MIN_BYTES: Final = 0 if os.environ.get("TAPEGRAD_CHECK_RULES") else 1 << 16
now = count().__next__  # one clock for all tapes and threads, so that entries keep their order when tapes merge


class Tape:
    """The base class of both kinds of tapes.

    Examples:
        >>> x = tg.tensor([1.0, 2.0])
        >>> isinstance(x.tape, tg.Tape), isinstance(x.trace().tape, tg.Tape)
        (True, True)
        >>> x.tape.owns, x.trace().tape.owns
        (False, True)
    """

    __slots__ = ()

    owns: ClassVar[bool]
    holds: ClassVar[bool]  # whether the tensor with this tape has a node

    @property
    def is_training(self) -> bool:
        """Whether layers that compute differently in training, such as dropout, do so."""
        return False

    def record(
        self,
        out: Tensor[S, NoneTape, D],
        inputs: tuple[Node, ...],
        backward: Pullback,
        saved: tuple[Node, ...] | None = None,
        *,
        reads: tuple[Node, ...] | None = None,
    ) -> Tensor[S, Self, D]:
        """Record an op and return its result `out` with this tape.

        Args:
            out: The result.
            inputs: The operands.
            backward: The backward closure: it takes the gradient of the result and adds to those of the operands.
            saved: The result and operands whose values `backward` reads, by default all. The value of a large tensor
                that no closure saves is freed together with the tensor.
            reads: Deprecated: the old name of `saved`.
        """
        raise NotImplementedError


T1 = TypeVar("T1", bound=Tape, default=Any)
T2 = TypeVar("T2", bound=Tape, default=Any)

# Other checkers see Any; the plugin reads the name before the alias expands and replaces it by a `Merged`.
Merge = TypeAliasType("Merge", Any, type_params=(T1, T2))
"""`Merge[T1, T2]` is the tape of the result of two operands: `NoneTape` if both tapes are, otherwise `OwnedTape`."""


class NoneTape(Tape):
    """The tape of an untraced tensor: it records nothing.

    Examples:
        >>> x = tg.tensor([1.0, 2.0])
        >>> x.tape
        NoneTape()
        >>> tg.exp(x).tape
        NoneTape()
        >>> isinstance(x.trace().tape, tg.NoneTape)
        False
    """

    __slots__ = ()

    owns = False
    holds = False

    @override
    def record(
        self,
        out: Tensor[S, NoneTape, D],
        inputs: tuple[Node, ...],
        backward: Pullback,
        saved: tuple[Node, ...] | None = None,
        *,
        reads: tuple[Node, ...] | None = None,
    ) -> Tensor[S, NoneTape, D]:
        if reads is not None:
            renamed(reads)
        for x in inputs:
            if x.is_of_module:
                first = inputs[0]
                if first.has_plain_state:
                    data: Any = first.data
                    result: Any = out.data
                    if type(data) is type(result) is ndarray and data.dtype.char == "f" and data.ndim:
                        return out  # data: the usual case, a layer that predicts
                note_constants(out.data, inputs)
                return _recorded_parameters(out, inputs, backward, saved)
        return out

    @override
    def __reduce__(self) -> str:
        return "NONE"  # a copied or unpickled tensor has the same instance

    @override
    def __repr__(self) -> str:
        return "NoneTape()"


T = TypeVar("T")
Consumed = Annotated[T, "consumed"]
"""`Consumed[Tensor[...]]` is a parameter whose tape the function consumes; mypy reports later uses of the argument."""


class Merged(Tape, Generic[T1, T2]):
    """The type by which the plugin represents the tape of a result until both tapes are known; never instantiated."""


class Checkpointing(ABC):
    """A checkpointing strategy: which values a tape saves for the backward pass, and which it computes again."""

    extent: ClassVar[int]  # if two tapes merge, the result has the strategy with the larger extent

    @abstractmethod
    def register(
        self,
        result: Tensor[Any, OwnedTape, Any],
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        *,
        memory_bound: bool,
    ) -> None:
        """Register the call that computed a result, after it was recorded."""


class OwnedTape(Tape):
    """The tape of a traced tensor; all tensors computed from it share it.

    Examples:
        >>> x = tg.tensor([1.0, 2.0])
        >>> y = x.trace() * 3.0
        >>> y.tape
        OwnedTape(GradientTape(1 op: mul (2,)))
        >>> z = y.sum()
        >>> z.tape.tape is y.tape.tape
        True
    """

    __slots__ = ("_tape",)

    owns = True
    holds = True

    def __init__(self, tape: GradientTape | None = None) -> None:
        self._tape = GradientTape() if tape is None else tape

    @property
    def tape(self) -> GradientTape:
        """The `GradientTape` with the operations recorded so far."""
        while self._tape.merged_into is not None:
            self._tape = self._tape.merged_into
        return self._tape

    @property
    def checkpoint(self) -> Checkpointing | None:
        """The checkpointing strategy, or None if all values are saved."""
        return self.tape.checkpoint

    @property
    @override
    def is_training(self) -> bool:
        return self.tape.is_training

    def join(self, other: OwnedTape | ParameterTape) -> OwnedTape:
        """Return a tape for the result of operands on both tapes; the two merge when the result is recorded."""
        return self if self._tape is other._tape else JointTape((self,)).join(other)

    def merge(self, other: OwnedTape) -> OwnedTape:
        """Merge two tapes into one, which both share from then on, and return it."""
        if self._tape is not other._tape:
            with _MERGING:
                into, away = self.tape, other.tape
                if len(into) < len(away):
                    into, away = away, into
                into._absorb(away)
                other._tape = self._tape = into
        return self

    def adopt(self, *parameters: ParameterTape) -> Self:
        """Take over the ops that computed operands from parameters, each op once, and return this tape."""
        for one in parameters:
            one.check()
        if parameters and self.tape.is_open:  # read here, because a joint tape takes the lock to merge
            with _MERGING:
                self._opened().adopt(parameters)
        return self

    @override
    def record(
        self,
        out: Tensor[S, NoneTape, D],
        inputs: tuple[Node, ...],
        backward: Pullback,
        saved: tuple[Node, ...] | None = None,
        *,
        reads: tuple[Node, ...] | None = None,
    ) -> Tensor[S, OwnedTape, D]:
        if reads is not None:
            saved = renamed(reads)
        tape = self._tape
        if not tape.is_open:
            tape = self._opened()
        for x in inputs:
            if not x.has_plain_state:
                if x.version is None:
                    tape.take_note(x, saved)
                else:  # checked here: most operands that are not plain are parameters
                    tape.watched.setdefault(x, x.version)
        entry = (now(), out, inputs, backward)
        tape.entries.append(entry)
        if not tape.is_open:  # another thread has consumed or merged it meanwhile
            self._record_again(entry, saved)
        taped: Tensor[S, OwnedTape, D] = _new(type(out))  # like `Tensor.carrying`, without the call
        data: Any = out.data
        taped.data, taped.tape, taped.node = data, self, out
        if saved is not None and type(data) is ndarray and data.nbytes >= RELEASE_MIN_BYTES:
            tape.release_unsaved(out, saved)
        return taped

    def _record_again(self, entry: Entry, saved: tuple[Node, ...] | None) -> None:
        """Record an entry on the tape that another thread has merged this one into; its time reveals duplicates."""
        with _MERGING:
            tape = self._opened()
            for x in entry[2]:
                if not x.has_plain_state:
                    tape.take_note(x, saved)
            tape.entries.append(entry)
            tape._shuffled = True

    def _opened(self) -> GradientTape:
        """Return the tape that this one was merged into, or raise a TapeError if it was consumed."""
        tape = self.tape
        if not tape.is_open:
            tape._reject()
        return tape

    @override
    def __reduce__(self) -> NoReturn:
        message = "a tensor with a tape cannot be copied or pickled; detach it first"
        raise TapeError(message)

    @override
    def __repr__(self) -> str:
        return f"OwnedTape({self.tape!r})"


class JointTape(OwnedTape):
    """The tape of operands on several tapes, which merge when an op is recorded or the tape itself is read.

    So an op that raises, or whose result has no tape, such as a comparison, does not merge the tapes of its operands,
    and takes over no ops on parameters.
    """

    __slots__ = ("_parameters", "_parts")

    def __init__(self, parts: tuple[OwnedTape, ...], parameters: tuple[ParameterTape, ...] = ()) -> None:
        self._parts = parts
        self._parameters = parameters

    @property
    def _tape(self) -> GradientTape:
        return self._merged()._tape

    @_tape.setter
    def _tape(self, tape: GradientTape) -> None:
        self._merged()._tape = tape

    @property
    @override
    def checkpoint(self) -> Checkpointing | None:
        return strongest(*(part.checkpoint for part in self._parts))

    @property
    @override
    def is_training(self) -> bool:
        return self._parts[0].is_training

    @override
    def join(self, other: OwnedTape | ParameterTape) -> OwnedTape:
        if isinstance(other, OwnedTape):
            return JointTape((*self._parts, other), self._parameters)
        return JointTape(self._parts, (*self._parameters, other))

    @override
    def record(
        self,
        out: Tensor[S, NoneTape, D],
        inputs: tuple[Node, ...],
        backward: Pullback,
        saved: tuple[Node, ...] | None = None,
        *,
        reads: tuple[Node, ...] | None = None,
    ) -> Tensor[S, Self, D]:
        saved = saved if reads is None else renamed(reads)
        recorded: Any = self._merged().record(out, inputs, backward, saved)
        taped: Tensor[S, Self, D] = recorded  # with the merged tape
        return taped

    def _merged(self) -> OwnedTape:
        first, *others = self._parts
        if others or self._parameters:
            for part in self._parts:
                first._opened().check_merge(part._opened())  # rejects a tape before anything merges
            for parameters in self._parameters:
                parameters.check()
            for other in others:
                first.merge(other)
            first.adopt(*self._parameters)
            self._parts, self._parameters = (first,), ()
        return first

    @override
    def __repr__(self) -> str:
        count = len(self._parts)
        return f"OwnedTape({count} tapes that become one when an op is recorded)" if count > 1 else super().__repr__()


class GradientTape:
    """The recorded operations of one forward pass, in the order in which they ran.

    `trace` creates one. A tape created directly is filled with `add_backward_op` and run with `execute`.

    Args:
        wrt: Tensors that get a gradient unless `backward` names others. By default those added by `trace`, and the
            parameters that are used.
        grads: Gradients to accumulate into.
        checkpoint: The checkpointing strategy; by default the tape saves all values.

    Raises:
        DTypeError: `grads` is not of type `Gradients`, or `checkpoint` is not a strategy.

    Examples:
        >>> x = tg.tensor([1.0, 2.0])
        >>> y = (x.trace() * 3.0).sum()
        >>> tape = y.tape.tape
        >>> tape
        GradientTape(2 ops: mul (2,), sum ())
        >>> grads = y.backward()
        >>> len(tape), tape.is_open
        (0, False)
    """

    __slots__ = (
        "_adopted",
        "_asks_parameters",
        "_constants",
        "_consumers",
        "_count",
        "_gradients",
        "_has_opaque",
        "_shuffled",
        "checkpoint",
        "consumed_at",
        "entries",
        "is_open",
        "is_training",
        "leaves",
        "merged_into",
        "recomputes",
        "watched",
    )

    def __init__(
        self,
        wrt: Iterable[Node] | None = None,
        grads: Gradients | None = None,
        checkpoint: Checkpointing | None = None,
        *,
        training: bool = True,
    ) -> None:
        if grads is not None:
            _check("grads", grads, Gradients, "Gradients are")
        if checkpoint is not None:
            _check("checkpoint", checkpoint, Checkpointing, "a strategy is")
        if training is not True:
            _check("training", training, bool, "a bool is")
        self.entries: list[Entry] = []
        self.leaves: dict[Node, None] = dict.fromkeys(wrt or ())
        self.watched: dict[Node, int] = {}  # parameters used, and the version each had at its first use
        self.checkpoint = checkpoint
        self.is_training = training
        self.is_open = True  # until it is consumed or merged away
        self.consumed_at: str | None = None
        self.merged_into: GradientTape | None = None
        self.recomputes = False  # whether it has nodes whose values are computed again in the backward pass
        self._adopted: frozenset[int] = _NO_TIMES  # the times of the entries taken over from tapes of parameters
        self._asks_parameters = wrt is None
        self._constants: frozenset[Node] = _NO_NODES  # parameters that a level above used, where they are constants
        self._gradients: tuple[Gradients, ...] = () if grads is None else (grads,)
        self._consumers: list[str] = []  # the calls that try to consume it; of several threads the first one continues
        self._count = 0  # the number of ops when it was consumed
        self._shuffled = False
        self._has_opaque = False  # whether it has steps of `add_backward_op`, whose inputs and outputs are unknown

    def __len__(self) -> int:
        return len(self.entries)

    def add_backward_op(self, op: Pullback) -> None:
        """Record a custom backward step, which is never pruned, since the tape does not know its operands.

        Args:
            op: A function of the gradients: it takes the gradient of a result and adds to those of the operands.

        Raises:
            TapeError: The tape has been consumed.
            DTypeError: `op` cannot be called with the gradients alone.
        """
        if self.consumed_at is not None:
            self._reject()
        if not callable(op):
            message = (
                f"add_backward_op: op is {with_article(type(op).__name__)} but a function of the gradients is expected"
            )
            raise DTypeError(message)
        _check_one_argument(op)
        self._has_opaque = True
        self.entries.append((now(), None, (), op))

    @staticmethod
    def time() -> int:
        """Return a time between the entries recorded before and those recorded after the call."""
        return now()

    def cut(self, start: int) -> list[Entry]:
        """Remove the entries recorded after a time, and return them."""
        cut = [entry for entry in self.entries if entry[0] > start]
        self.entries = [entry for entry in self.entries if entry[0] < start]
        return cut

    def put_back(self, entries: Sequence[Entry]) -> None:
        """Append entries that were cut from a tape."""
        self.entries += entries
        self._has_opaque = self._has_opaque or any(entry[1] is None for entry in entries)

    def release_unsaved(self, out: Node, saved: tuple[Node, ...]) -> None:
        """Release the node's reference to the value of a result, unless the backward pass reads or recomputes it."""
        if self.checkpoint is None and not is_among(out, saved):
            out.release_value()

    def take_note(self, x: Node, saved: tuple[Node, ...] | None) -> None:
        """Store the version of a parameter that is used, or save a value that the backward pass reads."""
        if x.version is not None:
            self.watched.setdefault(x, x.version)
        # An op that is run again reads all of its operands.
        elif saved is None or self.checkpoint is not None or is_among(x, saved):
            x.save_value()

    def adopt(self, parameters: Iterable[ParameterTape]) -> None:
        """Take over the ops that computed tensors from parameters, each op once; their times keep the order."""
        for one in parameters:
            for tape in one.chain():
                if tape.entry is not None and tape.entry[0] not in self._adopted:
                    self._adopted |= {tape.entry[0]}
                    self.entries.append(tape.entry)
                    self._shuffled = True
                    self._watch(tape.versions)

    def append(self, other: GradientTape) -> None:
        """Move all entries and settings of `other` to this tape; the entries' times keep the order.

        Raises:
            TapeError: One of the tapes has been consumed, or only one of them was traced with `training=False`.
            DTypeError: `other` is not a `GradientTape`.
        """
        if other is self:
            return
        if not isinstance(other, GradientTape):
            message = f"append: other is {with_article(type(other).__name__)} but a GradientTape is expected"
            raise DTypeError(message)
        self.check_merge(other)
        self._shuffled = self._shuffled or other._shuffled or bool(self.entries and other.entries)
        self._adopted |= other._adopted
        self._has_opaque = self._has_opaque or other._has_opaque
        self.recomputes = self.recomputes or other.recomputes
        self.entries += other.entries
        self.leaves |= other.leaves
        self._watch(dict(other.watched).items())  # a copy: other threads may be recording
        self._asks_parameters = self._asks_parameters or other._asks_parameters
        self._constants |= other._constants
        self._gradients += tuple(grads for grads in other._gradients if grads not in self._gradients)
        if other.checkpoint is not None:
            self.checkpoint = strongest(self.checkpoint, other.checkpoint)
        other.entries, other.leaves, other.watched, other._gradients = [], {}, {}, ()

    def check_merge(self, other: GradientTape) -> None:
        """Raise a TapeError if the tapes cannot become one."""
        for tape in (self, other):
            if tape.consumed_at is not None:
                tape._reject()
        if self.is_training is not other.is_training:
            raise TapeError("one operand was traced with training=False and another without; trace all of them alike")

    def execute(self, grads: Gradients | None = None, *, retain_tape: bool = False) -> Gradients:
        """Run all recorded backward steps, newest first, and consume the tape.

        Args:
            grads: The initial gradients, at least that of a result. By default empty: then only the steps of
                `add_backward_op` run.
            retain_tape: Whether the tape can be used again afterwards; then its steps keep what they have saved.

        Returns:
            The gradients given to `trace`, otherwise `grads`, with the gradient of every traced float tensor and
            parameter that was reached added to them.

        Raises:
            TapeError: The tape has been consumed, or a parameter has changed since it was recorded.
            DTypeError: `grads` are not gradients.
        """
        grads = Gradients() if grads is None else grads
        gradients_only("execute", grads)
        return self._run(grads, self._default_targets(), tuple(grads.values_by_node), retain=retain_tape)

    def backward(self, x: Node, seed: Any, wrt: Iterable[Node] | None, *, retain: bool = False) -> Gradients:
        """Run the backward pass from `x` with the upstream gradient `seed`, and return the gradients of `wrt`."""
        if x.has_plain_state:  # a released value cannot be read
            self.note_constants(x.data)
        if wrt is not None and self._constants:
            wrt = tuple(wrt)
            for one in wrt:
                if one in self._constants:
                    raise TapeError(messages.constant_above("backward: a parameter", one.shape))
        grads = Gradients()
        grads.add(x, seed)
        return self._run(grads, self._default_targets() if wrt is None else wrt, (), retain=retain)

    def note_constants(self, value: Any) -> None:
        """Note on the tape of `value`, a tensor of the level below, which parameters this level took as constants."""
        note_constants(value, (*self.watched, *self._constants))

    def graph(self) -> str:
        """Return the tape as a Mermaid graph: each op with the shape of its result, and arrows from its operands.

        A leaf is a tensor, or a number, that no op on the tape has computed. A step of `add_backward_op` has no arrows,
        since its operands are unknown.

        Raises:
            TapeError: The tape has been consumed.
        """
        if self.consumed_at is not None:
            self._reject()
        return tape_repr.graph(self.entries)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        """Return the text and the Mermaid graph for display in notebooks."""
        return {"text/plain": repr(self)} if self.consumed_at is not None else bundle(repr(self), self.graph())

    def _watch(self, versions: Iterable[tuple[Node, int]]) -> None:
        """Store the versions of parameters that were used, of each the oldest."""
        for x, version in versions:
            self.watched[x] = min(version, self.watched.get(x, version))

    def _absorb(self, other: GradientTape) -> None:
        """Move all entries of `other` to this tape, and redirect what is recorded on it later."""
        if other is not self:
            self.check_merge(other)
            other.merged_into, other.is_open = self, False  # first, so that `record` in another thread notices
            self.append(other)

    def _reject(self) -> NoReturn:
        message = f"the tape was consumed by backward at {self.consumed_at}; trace again for another gradient"
        raise TapeError(message, consumed_at=self.consumed_at)

    def _default_targets(self) -> list[Node]:
        parameters = self.watched if self._asks_parameters else ()
        targets = [*self.leaves, *(node for node in parameters if not node.frozen)]
        return [node for node in targets if node not in self._constants] if self._constants else targets

    def _run(self, grads: Gradients, targets: Iterable[Node], kept: Iterable[Node], *, retain: bool) -> Gradients:
        if self.consumed_at is not None:
            self._reject()
        self._check_versions()
        if retain is not False:
            _check("retain_tape", retain, bool, "a bool is")
        if not retain:
            here = where_called()
            self._consumers.append(here)
            self.is_open, self.consumed_at = False, self._consumers[0]
            if self._consumers[0] is not here:
                self._reject()
        entries = self.entries.copy() if retain else self.entries
        if self._shuffled:
            entries[:] = {entry[0]: entry for entry in sorted(entries, key=_time)}.values()
        grads.constants |= self._constants
        grads._want(targets, kept, entries, has_opaque=self._has_opaque)
        if not retain:
            self._count = len(entries)
            self.leaves, self.watched = {}, {}
        with ignore_underflow():
            self._run_back(grads, entries, retain=retain)
        grads._finish()
        for node in grads.constants:
            grads.values_by_node.pop(node, None)  # a part of it is missing
        return self._accumulated(grads, retain=retain)

    def _run_back(self, grads: Gradients, entries: list[Entry], *, retain: bool) -> None:
        """Run entries, newest first and removing each, and release each op's saved values after its step."""
        values, wanted = grads.values_by_node, grads.wanted
        recomputes = self.recomputes
        batch_size = 1 if recomputes or _extent(self.checkpoint) else _BATCH_SIZE  # trades time for memory
        out, backward = None, _nothing
        try:
            while entries:
                newest = entries[-batch_size:]
                del entries[-batch_size:]
                for _, out, _, backward in reversed(newest):
                    if out in values or out is None:
                        backward(grads)
                    if recomputes and out is not None:
                        out.discard_value(for_good=not retain)
                wanted.difference_update([out for _, out, _, _ in newest])
        except SingularError:
            raise  # its message names the op already
        except TapegradError as error:
            raise error.with_message(f"backward of {tape_repr.name_of(out, backward)}: {error}") from error
        finally:
            entries.clear()

    def _accumulated(self, grads: Gradients, *, retain: bool) -> Gradients:
        """Add the computed gradients to those given by `trace(grads=...)` to this tape and to tapes merged into it."""
        if not self._gradients:
            return grads
        total, *others = self._gradients
        self._gradients = (total,) if retain else ()
        together = Gradients()
        together.values_by_node = dict(total.values_by_node)
        for part in (*others, grads):
            for node, value in part.values_by_node.items():
                together.add(node, value)
        total.constants |= grads.constants
        for node in total.constants:
            together.values_by_node.pop(node, None)  # a part of it is missing
        total.values_by_node = together.values_by_node  # in one assignment: an interrupt adds all or nothing
        return total

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
            return f"GradientTape({tape_repr.counted(self._count, 'op')}, consumed at {self.consumed_at})"
        steps = f": {tape_repr.listed(self.entries, tape_repr.step)}" if self.entries else ""
        return f"GradientTape({tape_repr.counted(len(self), 'op')}{steps})"


NONE: Final = NoneTape()
_MERGING: Final = open_in_children(Lock())  # only one thread merges tapes at a time


def where_called() -> str:
    """Return file and line of the innermost caller outside tapegrad."""
    frame = sys._getframe(3)  # skips `GradientTape._run` and its caller, which is inside tapegrad as well
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE_FOLDER):
        frame = frame.f_back
    return f"{frame.f_code.co_filename.rpartition(os.sep)[2]}:{frame.f_lineno}"


def strongest(*strategies: Checkpointing | None) -> Checkpointing | None:
    """Return the strategy that recomputes the most, which merged tapes use."""
    return max(strategies, key=_extent)


def _check(option: str, given: object, kind: type, expected: str) -> None:
    if not isinstance(given, kind):
        message = f"{option} is {with_article(type(given).__name__)} but {expected} expected"
        raise DTypeError(message)


def _check_one_argument(op: Pullback) -> None:
    import inspect  # no op of the library needs it

    try:
        inspect.signature(op).bind(None)
    except TypeError as error:
        message = f"add_backward_op: op must take the gradients alone: {error}"
        raise DTypeError(message) from error
    except ValueError:
        pass  # a function written in C, whose arguments are unknown


def _recorded_parameters(
    out: Tensor[S, NoneTape, D], inputs: tuple[Node, ...], backward: Pullback, saved: tuple[Node, ...] | None
) -> Tensor[S, NoneTape, D]:
    """Record an op on parameters, buffers, numbers and integers alone; a float without a tape is data.

    A result of frozen ones alone is not recorded, but marked.
    """
    is_trained = False
    for x in inputs:
        if is_data(x):
            return out
        is_trained = is_trained or (x.version is not None and not x.frozen)
    if not out.is_float:
        return out
    if not is_trained:
        out.mark_frozen()
        return out
    return out._recorded_on_parameters(inputs, backward, saved)


def note_constants(value: Any, nodes: Iterable[Node]) -> None:
    """Note on the tape of a value of `Autodiff`, a tensor, the parameters that computed it as constants."""
    below = getattr(value, "tape", None)
    if below is not None and below.owns:
        below.tape._constants |= {one for one in nodes if one.version is not None and not one.frozen}


def is_data(x: Node) -> bool:
    """Return whether a tensor without a tape is no part of a module: a float that is not a number."""
    return not x.is_of_module and x.is_float and x.ndim > 0


def renamed(reads: tuple[Node, ...]) -> tuple[Node, ...]:
    """Return the nodes given by the old name of `saved`, with a warning."""
    message = "record: reads is called saved since 0.2.0, and its old name is removed in 0.3.0"
    warnings.warn(message, DeprecationWarning, stacklevel=3)
    return reads


def is_among(x: Node, nodes: tuple[Node, ...]) -> bool:
    """Return whether a node is one of some nodes."""
    return any(x is node for node in nodes)  # `==` compares elements


def _extent(checkpoint: Checkpointing | None) -> int:
    return 0 if checkpoint is None else checkpoint.extent


_PACKAGE_FOLDER: Final = __file__.removesuffix(f"autograd{os.sep}tape.py")
_new: Any = object.__new__  # Any: the caller annotates the result


def _nothing(_: Gradients) -> None:
    """Do nothing, as the backward closure of a tape that has no ops."""


_time = itemgetter(0)  # the time of an entry
