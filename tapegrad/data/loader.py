"""Loaders of other libraries, such as PyTorch's DataLoader: their batches become tensors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from tapegrad.data.batches import as_tensor
from tapegrad.errors import DTypeError, messages
from tapegrad.errors.tracebacks import public_api

if TYPE_CHECKING:
    from collections.abc import Iterator


@public_api
class Loaded:
    """Iterable of the batches of a loader, created by `from_loader`; each iteration is a pass over the loader.

    Its length is that of the loader, which a loader of an endless stream does not have.

    Examples:
        >>> loaded = tg.data.from_loader([np.ones((2, 3)), np.zeros((2, 3))])
        >>> len(loaded), [batch.shape for batch in loaded]
        (2, [(2, 3), (2, 3)])
    """

    def __init__(self, loader: Iterable[Any]) -> None:
        if not isinstance(loader, Iterable):
            kind = messages.with_article(type(loader).__name__)
            message = f"from_loader: loader is {kind}, which is not iterable"
            raise DTypeError(message)
        self.loader = loader

    def __len__(self) -> int:
        loader: Any = self.loader
        return len(loader)

    def __iter__(self) -> Iterator[Any]:
        for number, batch in enumerate(self.loader):
            yield _converted(f"batch {number}", batch)


@public_api
def from_loader(loader: Iterable[Any]) -> Loaded:
    """Iterate over the batches of another library's loader, such as PyTorch's `DataLoader`, as tensors.

    The loader keeps its own workers, sampler and order. The arrays of a batch are copied. mypy does not know the shapes
    of the batches: annotate them where they are used, as in `x: Tensor[Shape[L[32], L[784]], NoneTape] = batch[0]`.

    Args:
        loader: An iterable of batches. A batch is an array or a number, or a list, tuple or mapping of them.

    Returns:
        An iterable with the loader's length. A list or a tuple of arrays becomes a tuple of tensors, a mapping a dict.

    Raises:
        DTypeError: The loader is not iterable, or a batch holds something else than arrays and numbers.

    Examples:
        >>> loader = [[np.array([[1.0, 2.0]], np.float32), np.array([3])]]
        >>> for x, y in tg.data.from_loader(loader):
        ...     print(x.tolist(), y.tolist())
        [[1.0, 2.0]] [3]
    """
    return Loaded(loader)


def _converted(place: str, batch: Any) -> Any:
    if isinstance(batch, Mapping):
        return {name: _converted(place, part) for name, part in batch.items()}
    if isinstance(batch, list | tuple):
        return tuple(_converted(place, part) for part in batch)
    return as_tensor("from_loader", place, batch)
