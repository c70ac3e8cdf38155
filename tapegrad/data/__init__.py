"""Mini-batches of tensors and datasets."""

from tapegrad.data.batches import Batches as Batches
from tapegrad.data.batches import Dataset as Dataset
from tapegrad.data.batches import batches as batches
from tapegrad.data.loader import Loaded as Loaded
from tapegrad.data.loader import from_loader as from_loader
from tapegrad.errors.missing_names import attribute_of as _attribute_of

globals()["__getattr__"] = _attribute_of(__name__)  # unseen by type checkers, which report a missing name themselves
