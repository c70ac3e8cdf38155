"""Files: parameters and the states of optimizers, saved whole and loaded whole or not at all."""

from tapegrad.io.checkpoint import Saved as Saved
from tapegrad.io.checkpoint import load as load
from tapegrad.io.checkpoint import save as save
from tapegrad.io.formats import FileError as FileError
