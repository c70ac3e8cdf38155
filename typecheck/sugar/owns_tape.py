"""`owns_tape` narrows a union of tensors, in mypy with the plugin."""

from typing import assert_type

import tapegrad as tg
from tapegrad import NoneTape, OwnedTape, Tensor

row = tg.ones((3,))


def accept_one_of_two_tensors_that_owns_a_tape() -> None:
    class Holder:
        def __init__(self, loss: Tensor[tuple[()], NoneTape] | Tensor[tuple[()], OwnedTape]) -> None:
            self.loss = loss

    def differentiated(a: Tensor[tuple[()], NoneTape] | Tensor[tuple[()], OwnedTape], held: Holder) -> None:
        if a.owns_tape:
            assert_type(a, Tensor[tuple[()], OwnedTape])
            a.backward()
        else:
            assert_type(a, Tensor[tuple[()], NoneTape])
            a.trace()
        if not held.loss.owns_tape:
            return
        held.loss.backward()

    differentiated(row.sum(), Holder(row.trace().sum()))
    differentiated(row.trace().sum(), Holder(row.sum()))


def reject_the_one_that_owns_none() -> None:
    def differentiated(a: Tensor[tuple[()], NoneTape] | Tensor[tuple[()], OwnedTape]) -> None:
        if not a.owns_tape:
            a.backward()  # E(mypy): backward: the tensor has no tape; trace an input first [tapegrad-tape]

    differentiated(row.trace().sum())
