"""A tensor type without arguments: any dtype with the plugin, the default dtype in other checkers."""

import tapegrad as tg
from tapegrad import Tensor


def accept_a_bare_tensor_of_any_dtype() -> None:
    def rank(a: Tensor) -> int:
        return a.ndim

    assert rank(tg.tensor([[1, 2]])) == 2
    assert rank(tg.ones((3,)).trace() > 0) == 1
