"""The errors tapegrad raises: four, each of them also one of Python's own."""


class ShapeError(ValueError):
    """Sizes do not fit; the message names the op, the shapes and the sizes."""


class DTypeError(TypeError):
    """Dtypes do not fit, or an argument is of another kind; the message names the op and the dtypes."""


class TapeError(RuntimeError):
    """A gradient was asked for that no tape can give."""


class SingularError(ValueError):
    """A matrix has no inverse; the message names the op, the shape and the place in a stack."""
