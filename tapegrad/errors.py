"""The errors tapegrad raises: three, each of them also one of Python's own."""


class ShapeError(ValueError):
    """Sizes do not fit; the message names the op, the shapes and the sizes."""


class DTypeError(TypeError):
    """Dtypes do not fit; the message names the op and the dtypes."""


class TapeError(RuntimeError):
    """A gradient was asked for that no tape can give."""
