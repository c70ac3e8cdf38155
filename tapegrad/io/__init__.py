"""Save and load modules, optimizers and training state, atomically."""

from tapegrad.io.checkpoint import Saved as Saved
from tapegrad.io.checkpoint import load as load
from tapegrad.io.checkpoint import save as save
from tapegrad.io.formats import FileError as FileError
