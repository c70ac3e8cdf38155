"""Data: how a set of examples becomes batches."""

from tapegrad.data.batches import Batches as Batches
from tapegrad.data.batches import Dataset as Dataset
from tapegrad.data.batches import batches as batches
