"""Slot tapes: slots are ints, values and buffers are arrays, and mypy keeps them apart."""

from typing import assert_type

import numpy as np

from tapegrad.slot_tape import NumericalInstabilityError, SlotTape

x = np.ones((2, 3))
w = np.ones((3, 5))


def accept_a_tape_written_by_hand() -> None:
    tape = SlotTape()
    a, b = tape.leaf(x), tape.leaf(w)
    product = tape.record_matmul(a, x, b, w)
    assert_type(product, int)
    assert_type(tape.record_silu(product, x @ w), int)
    gradients = [np.zeros(6), np.zeros(15), np.zeros(10), np.zeros(10)]
    tape.backward(np.ones(10), gradients)


def accept_what_an_error_says() -> None:
    tape = SlotTape()
    tape.leaf(x)
    try:
        tape.backward(np.full((2, 3), np.inf), [np.zeros(6)])
    except NumericalInstabilityError as error:
        assert_type(error.op, str)
        assert_type(error.slot, int)


def reject_a_value_in_the_place_of_a_slot() -> None:
    tape = SlotTape()
    tape.record_add(tape.leaf(x), x)  # E(mypy): Argument 2 to "record_add" of "SlotTape" has incompatible type "ndarray[tuple[int, int], dtype[float64]]"; expected "int" [arg-type]


def reject_a_list_in_the_place_of_an_array() -> None:
    SlotTape().leaf([1.0])  # E(mypy): Argument 1 to "leaf" of "SlotTape" has incompatible type "list[float]"; expected "ndarray[Any, dtype[Any]]" [arg-type]


def reject_a_slot_without_its_value() -> None:
    tape = SlotTape()
    tape.record_silu(tape.leaf(x))  # E(mypy): Missing positional argument "x_data" in call to "record_silu" of "SlotTape" [call-arg]
