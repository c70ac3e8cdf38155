"""Mini-batches of tensors and datasets."""

from tapegrad.data.batches import Batches as Batches
from tapegrad.data.batches import Dataset as Dataset
from tapegrad.data.batches import batches as batches
