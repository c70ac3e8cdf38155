"""The check of the sizes that a layer is made with."""

from tapegrad.errors import ShapeError


def positive(layer: str, **sizes: int) -> None:
    """Refuses a size below 1, by its name."""
    for name, size in sizes.items():
        if size < 1:
            message = f"{layer}: {name} is {size} but must be at least 1"
            raise ShapeError(message)
