"""Mini-batches: iterate over the rows of tensors or over a dataset, shuffled and resumable."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, Literal, Protocol, TypeAlias, overload

import numpy as np
from typing_extensions import TypeVar, TypeVarTuple

from tapegrad.data.workers import Processes, Threads, Workers
from tapegrad.errors import DTypeError, ShapeError, TapeError, messages
from tapegrad.errors.options import check_count, check_flag, check_whole
from tapegrad.errors.tracebacks import public_api
from tapegrad.generator import generator, state_of
from tapegrad.generator import restore as restore_generator
from tapegrad.ops import stack, take, tensor
from tapegrad.sizes import Add
from tapegrad.tensors import D1, D2, D, Tensor, node

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tapegrad.autograd.tape import NoneTape
    from tapegrad.generator import RNG
    from tapegrad.tensors.aliases import Shape

B = TypeVar("B", bound=int, default=Any)
N = TypeVar("N", bound=int, default=Any)
Rest = TypeVarTuple("Rest")
Rest1 = TypeVarTuple("Rest1")
Rest2 = TypeVarTuple("Rest2")
Item = TypeVar("Item", covariant=True, default=Any)

# Type checkers without the plugin infer Any instead of `int`, which is not compatible with a literal size.
BatchSize: TypeAlias = Add[B, Literal[0]]


class Dataset(Protocol[Item]):
    """Examples by index: any class with these two methods, such as a list.

    An example is a tensor or a tuple of tensors, without a tape. All examples have the same shapes and dtypes. Arrays
    of other libraries and numbers are converted by `tapegrad.tensor`, so that a dataset of PyTorch is a dataset here.

    Examples:
        >>> class Squares:
        ...     def __len__(self):
        ...         return 4
        ...     def __getitem__(self, index):
        ...         return tg.tensor([index, index**2])
        >>> [batch.tolist() for batch in tg.data.batches(Squares(), size=2, shuffle=False)]
        [[[0, 0], [1, 1]], [[2, 4], [3, 9]]]
    """

    def __len__(self) -> int:
        """Return the number of examples."""

    def __getitem__(self, index: int, /) -> Item:
        """Return the example at an index, counted from 0."""


@public_api
class Batches(Generic[Item]):
    """Iterable of mini-batches, created by `batches`; each iteration is a new pass over the examples.

    Its state is the position in the current pass. A run that saves it in a checkpoint can resume in the middle of a
    pass: after `restore`, the next iteration yields the rest of that pass, in the same order.

    Examples:
        >>> images, labels = tg.uniform((10, 64), rng=0), tg.arange(10)
        >>> batches = tg.data.batches(images, labels, size=4, rng=0)
        >>> len(batches)
        2
        >>> for x, y in batches:
        ...     print(x.shape, y.shape)
        (4, 64) (4,)
        (4, 64) (4,)
    """

    def __init__(
        self,
        source: tuple[Tensor[Any, NoneTape, Any], ...] | Dataset[Any],
        size: int,
        *,
        shuffle: bool,
        drop_last: bool,
        rng: RNG,
        workers: int = 0,
        processes: bool = False,
    ) -> None:
        check_whole("batches", "size", size)
        check_count("batches", "workers", workers, 0)
        for name, flag in (("shuffle", shuffle), ("drop_last", drop_last), ("processes", processes)):
            check_flag("batches", name, flag)
        self.source = source
        self.size = size
        self.shuffle = shuffle
        self.drop_last = drop_last
        self.rows = _rows(source) if isinstance(source, tuple) else len(source)
        self.rng = generator(rng, "batches")
        if size < 1:
            message = f"batches: size is {size} but must be at least 1"
            raise ShapeError(message)
        if drop_last and size > self.rows:
            kind = "tensors have" if isinstance(source, tuple) else "data has"
            message = f"batches: size is {size} but the {kind} {self.rows} rows, which fill no batch"
            raise ShapeError(message)
        self._workers = _workers(source, workers, in_processes=processes)
        self._underway = Underway(self.rng.bit_generator.state)
        self._interrupted: Underway | None = None

    def __len__(self) -> int:
        return self.rows // self.size if self.drop_last else -(-self.rows // self.size)

    def __iter__(self) -> Iterator[Item]:
        resumed, self._interrupted = self._interrupted, None
        underway = self._underway = resumed or Underway(self.rng.bit_generator.state)
        order = self._order(self.rng if resumed is None else _generator(resumed.began))
        try:
            starts = range(underway.passed * self.size, len(self) * self.size, self.size)
            plan = [order[start : start + self.size] for start in starts]
            for number, item in enumerate(self._items(plan), underway.passed):
                underway.passed = number + 1
                yield item
        finally:
            underway.passed = 0

    def _items(self, plan: list[Any]) -> Iterator[Any]:
        if self._workers is not None:
            return self._workers.batches(plan)
        if isinstance(self.source, tuple):
            return map(partial(_taken, self.source), plan)
        return map(partial(_stacked, self.source), plan)

    def _order(self, rng: np.random.Generator) -> Any:
        return rng.permutation(self.rows) if self.shuffle else np.arange(self.rows)

    def arrays(self) -> dict[str, Any]:
        """Return the position in the current pass and the state of the generator, for `tapegrad.io.save`.

        Raises:
            ValueError: The generator is not of the kind that `numpy.random.default_rng` returns.
        """
        try:
            now, began = state_of(self.rng), state_of(_generator(self._underway.began))
        except ValueError as error:
            message = f"batches: rng is {error}"
            raise ValueError(message) from None
        # One bool per batch, so that loading fails by shape if the number of batches differs.
        return {"rng": now, "began": began, "passed": np.arange(len(self)) < self._underway.passed}

    def restore(self, arrays: Mapping[str, Any]) -> None:
        """Restore the result of `arrays`; the next iteration yields the rest of the interrupted pass."""
        began = np.random.default_rng(0)
        restore_generator(began, arrays["began"])
        restore_generator(self.rng, arrays["rng"])
        self._underway = Underway(began.bit_generator.state, int(arrays["passed"].sum()))
        self._interrupted = self._underway if self._underway.passed else None


@dataclass(slots=True)
class Underway:
    """A pass: the state of the generator at its start, which determines the order, and the number of batches yielded.

    The number is reset to 0 when a pass ends or is left by a `break`, so that the next iteration starts a new pass.
    """

    began: Mapping[str, Any]
    passed: int = 0


def _generator(state: Mapping[str, Any]) -> np.random.Generator:
    """Return a NumPy generator with a given state, whose `bit_generator` entry names its kind."""
    bits = getattr(np.random, state["bit_generator"])()
    bits.state = state
    return np.random.Generator(bits)


@overload
def batches(
    x: Tensor[Shape[Any, *Rest], NoneTape, D],
    /,
    *,
    size: B,
    shuffle: bool = True,
    drop_last: Literal[True] = True,
    rng: RNG = None,
) -> Batches[Tensor[Shape[BatchSize[B], *Rest], NoneTape, D]]: ...
@overload
def batches(
    x: Tensor[Shape[Any, *Rest], NoneTape, D],
    /,
    *,
    size: int,
    shuffle: bool = True,
    drop_last: bool,
    rng: RNG = None,
) -> Batches[Tensor[Shape[Any, *Rest], NoneTape, D]]: ...
@overload
def batches(
    x: Tensor[Shape[N, *Rest], NoneTape, D],
    y: Tensor[Shape[N, *Rest1], NoneTape, D1],
    /,
    *,
    size: B,
    shuffle: bool = True,
    drop_last: Literal[True] = True,
    rng: RNG = None,
) -> Batches[
    tuple[Tensor[Shape[BatchSize[B], *Rest], NoneTape, D], Tensor[Shape[BatchSize[B], *Rest1], NoneTape, D1]]
]: ...
@overload
def batches(
    x: Tensor[Shape[N, *Rest], NoneTape, D],
    y: Tensor[Shape[N, *Rest1], NoneTape, D1],
    /,
    *,
    size: int,
    shuffle: bool = True,
    drop_last: bool,
    rng: RNG = None,
) -> Batches[tuple[Tensor[Shape[Any, *Rest], NoneTape, D], Tensor[Shape[Any, *Rest1], NoneTape, D1]]]: ...
@overload
def batches(
    x: Tensor[Shape[N, *Rest], NoneTape, D],
    y: Tensor[Shape[N, *Rest1], NoneTape, D1],
    z: Tensor[Shape[N, *Rest2], NoneTape, D2],
    /,
    *,
    size: B,
    shuffle: bool = True,
    drop_last: Literal[True] = True,
    rng: RNG = None,
) -> Batches[
    tuple[
        Tensor[Shape[BatchSize[B], *Rest], NoneTape, D],
        Tensor[Shape[BatchSize[B], *Rest1], NoneTape, D1],
        Tensor[Shape[BatchSize[B], *Rest2], NoneTape, D2],
    ]
]: ...
@overload
def batches(
    x: Tensor[Shape[N, *Rest], NoneTape, D],
    y: Tensor[Shape[N, *Rest1], NoneTape, D1],
    z: Tensor[Shape[N, *Rest2], NoneTape, D2],
    /,
    *,
    size: int,
    shuffle: bool = True,
    drop_last: bool,
    rng: RNG = None,
) -> Batches[
    tuple[
        Tensor[Shape[Any, *Rest], NoneTape, D],
        Tensor[Shape[Any, *Rest1], NoneTape, D1],
        Tensor[Shape[Any, *Rest2], NoneTape, D2],
    ]
]: ...
@overload
def batches(
    data: Dataset[Tensor[Shape[*Rest], NoneTape, D]],
    /,
    *,
    size: B,
    shuffle: bool = True,
    drop_last: Literal[True] = True,
    rng: RNG = None,
    workers: int = 0,
    processes: bool = False,
) -> Batches[Tensor[Shape[BatchSize[B], *Rest], NoneTape, D]]: ...
@overload
def batches(
    data: Dataset[Tensor[Shape[*Rest], NoneTape, D]],
    /,
    *,
    size: int,
    shuffle: bool = True,
    drop_last: bool,
    rng: RNG = None,
    workers: int = 0,
    processes: bool = False,
) -> Batches[Tensor[Shape[Any, *Rest], NoneTape, D]]: ...
@overload
def batches(
    data: Dataset[tuple[Tensor[Shape[*Rest], NoneTape, D], Tensor[Shape[*Rest1], NoneTape, D1]]],
    /,
    *,
    size: B,
    shuffle: bool = True,
    drop_last: Literal[True] = True,
    rng: RNG = None,
    workers: int = 0,
    processes: bool = False,
) -> Batches[
    tuple[Tensor[Shape[BatchSize[B], *Rest], NoneTape, D], Tensor[Shape[BatchSize[B], *Rest1], NoneTape, D1]]
]: ...
@overload
def batches(
    data: Dataset[tuple[Tensor[Shape[*Rest], NoneTape, D], Tensor[Shape[*Rest1], NoneTape, D1]]],
    /,
    *,
    size: int,
    shuffle: bool = True,
    drop_last: bool,
    rng: RNG = None,
    workers: int = 0,
    processes: bool = False,
) -> Batches[tuple[Tensor[Shape[Any, *Rest], NoneTape, D], Tensor[Shape[Any, *Rest1], NoneTape, D1]]]: ...
@overload
def batches(
    data: Dataset[Any],
    /,
    *,
    size: int,
    shuffle: bool = True,
    drop_last: bool = True,
    rng: RNG = None,
    workers: int = 0,
    processes: bool = False,
) -> Batches[Any]: ...
@overload
def batches(
    w: Tensor[Any, NoneTape, Any],
    x: Tensor[Any, NoneTape, Any],
    y: Tensor[Any, NoneTape, Any],
    z: Tensor[Any, NoneTape, Any],
    /,
    *more: Tensor[Any, NoneTape, Any],
    size: int,
    shuffle: bool = True,
    drop_last: bool = True,
    rng: RNG = None,
) -> Batches[Any]: ...
@public_api
def batches(
    *data: Tensor[Any, NoneTape, Any] | Dataset[Any],
    size: int,
    shuffle: bool = True,
    drop_last: bool = True,
    rng: RNG = None,
    workers: int = 0,
    processes: bool = False,
) -> Batches[Any]:
    """Split the rows of tensors, or the examples of a dataset, into mini-batches.

    Several tensors are split at the same rows. Nothing is copied before a batch is requested. Each pass over the result
    draws a new order from one generator, which is created by this call.

    Args:
        data: One or more tensors, `(N, ...)`, with one example per row; or one `Dataset` of N examples.
        size: Rows per batch, from 1 to N.
        shuffle: Whether the rows are in random order.
        drop_last: Whether to omit the last batch if it would be smaller than `size`.
        rng: A generator, a seed, or None for the innermost `tapegrad.random`. It determines the order of the examples;
            a dataset that draws random numbers should draw them from a generator made from the index.
        workers: How many batches of a dataset are made ahead, at the same time, while the loop computes; with 0 a batch
            is made when it is requested. Workers change neither the order nor the values.
        processes: Whether the workers are processes instead of threads. Threads suit files and NumPy, which let others
            run; processes suit long Python code. A process reads a copy of the dataset, which must be picklable.

    Returns:
        An iterable whose length is the number of batches. For one tensor its items are tensors `(size, ...)`, otherwise
        tuples of tensors. It can be saved and loaded, see `Batches`.

    Raises:
        ShapeError: The tensors differ in their number of rows or have no rows, the examples differ in shape, or `size`
            is out of range.
        DTypeError: An example is neither a tensor nor a tuple of tensors, or the examples differ in dtype; or an
            argument is not a tensor and not the only dataset; or `size` is not an int; or the dataset cannot be pickled
            for a process. An error of the dataset itself has a note with the index of the example.
        TapeError: A tensor has a tape.
        ValueError: `workers` is negative, or given without a dataset; or there are `processes` without workers.
        RuntimeError: A process ended before it sent a batch.

    Examples:
        >>> rows = tg.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
        >>> [x.tolist() for x in tg.data.batches(rows, size=2, shuffle=False, drop_last=False)]
        [[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0]]]
        >>> [x.shape for x in tg.data.batches(rows, size=2, rng=0)]
        [(2, 2)]
        >>> pairs = [(np.array([0.5, 1.0], np.float32), 0), (np.array([1.5, 2.0], np.float32), 1)]
        >>> [(x.tolist(), y.tolist()) for x, y in tg.data.batches(pairs, size=2, shuffle=False, workers=1)]
        [([[0.5, 1.0], [1.5, 2.0]], [0, 1])]
    """
    if len(data) == 1 and not isinstance(data[0], Tensor):
        if not hasattr(data[0], "__len__") or not hasattr(data[0], "__getitem__"):
            kind = messages.with_article(type(data[0]).__name__)
            message = f"batches: the dataset is {kind}, which has no length or gives no example by number"
            if hasattr(data[0], "__iter__") and hasattr(data[0], "dataset"):
                message = f"batches: {kind} gives batches already: use tapegrad.data.from_loader"
            raise DTypeError(message)
        dataset: Any = data[0]
        return Batches(
            dataset, size, shuffle=shuffle, drop_last=drop_last, rng=rng, workers=workers, processes=processes
        )
    for position, x in enumerate(data):
        if not isinstance(x, Tensor):
            message = f"batches: {_place(position)} is {messages.with_article(type(x).__name__)}, not a tensor"
            raise DTypeError(message)
    tensors: Any = data
    return Batches(tensors, size, shuffle=shuffle, drop_last=drop_last, rng=rng, workers=workers, processes=processes)


def _taken(tensors: tuple[Tensor[Any, NoneTape, Any], ...], rows: Any) -> Any:
    item = tuple(take(x, node(rows)) for x in tensors)
    return item if len(item) > 1 else item[0]


def _workers(source: Any, count: int, *, in_processes: bool) -> Workers | None:
    if not count:
        if in_processes:
            message = "batches: processes is True but workers is 0: how many processes should there be?"
            raise ValueError(message)
        return None
    if isinstance(source, tuple):
        message = f"batches: workers is {count}, but only a dataset is read by workers, and the data are tensors"
        raise ValueError(message)  # noqa: TRY004  # the tensors are right, the number of workers is not
    kind = Processes if in_processes else Threads
    return kind(partial(_stacked, source), count)


def _stacked(data: Dataset[Any], rows: Any) -> Any:
    """Stack the examples with the given indices; for tuples, stack each component separately."""
    places = [f"example {row}" for row in rows.tolist()]
    examples = [_example(data, row) for row in rows.tolist()]
    parts = [example if isinstance(example, tuple) else (example,) for example in examples]
    for place, example in zip(places, parts, strict=True):
        if any(part.owns_tape for part in example):
            raise TapeError(messages.tape_unwanted("batches", place))
        _check_alike(place, example, places[0], parts[0])
    item = tuple(stack(of_each) for of_each in zip(*parts, strict=True))
    return item if isinstance(examples[0], tuple) else item[0]


def _example(data: Dataset[Any], row: int) -> Any:
    """Read an example, whose arrays and numbers become tensors; an error has a note with its index."""
    place = f"example {row}"
    try:
        example = data[row]
    except Exception as error:
        error.add_note(f"batches: {place} of the dataset raised this")
        raise
    if isinstance(example, tuple):
        return tuple(as_tensor("batches", place, part) for part in example)
    return as_tensor("batches", place, example)


def as_tensor(call: str, place: str, value: Any) -> Tensor[Any, Any, Any]:
    """Return a tensor of an array or a number, and a tensor as it is.

    Raises:
        DTypeError: The value is neither, or an array that no tensor can hold.
    """
    if isinstance(value, Tensor):
        return value
    if isinstance(value, bool | int | float) or hasattr(value, "__array__") or hasattr(value, "__dlpack__"):
        try:
            return tensor(value)
        except DTypeError as error:
            error.add_note(f"{call}: the value is or belongs to {place}")
            raise
    message = f"{call}: {place} is or holds {messages.with_article(type(value).__name__)}, not a tensor or an array"
    raise DTypeError(message)


def _check_alike(place: str, parts: tuple[Any, ...], first: str, expected: tuple[Any, ...]) -> None:
    """Reject an example whose shapes or dtypes differ from those of the first one."""
    for what, error in (("shape", ShapeError), ("dtype", DTypeError)):
        ours, theirs = (", ".join(str(getattr(part, what)) for part in one) for one in (parts, expected))
        if ours != theirs:
            message = f"batches: {place} is {ours} but {first} is {theirs}"
            raise error(message)


def _rows(tensors: tuple[Tensor[Any, Any, Any], ...]) -> int:
    if not tensors:
        message = "batches: there is no tensor"
        raise ShapeError(message)
    for position, x in enumerate(tensors):
        if x.owns_tape:
            raise TapeError(messages.tape_unwanted("batches", _place(position)))
        if not x.ndim:
            message = f"batches: {_place(position)} has shape (), which has no rows"
            raise ShapeError(message)
        if len(x) != len(tensors[0]):
            raise ShapeError(messages.conflict("batches", "N", len(tensors[0]), _place(0), len(x), _place(position)))
    return len(tensors[0])


def _place(position: int) -> str:
    return f"argument {position + 1}"
