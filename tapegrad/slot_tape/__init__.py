"""A tape with manual recording: values are identified by slot numbers."""

from tapegrad.slot_tape.checks import NumericalInstabilityError as NumericalInstabilityError
from tapegrad.slot_tape.tape import SlotTape as SlotTape
