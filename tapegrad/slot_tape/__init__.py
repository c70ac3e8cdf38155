"""A tape that is written by hand: values go by slot number."""

from tapegrad.slot_tape.checks import NumericalInstabilityError as NumericalInstabilityError
from tapegrad.slot_tape.tape import SlotTape as SlotTape
