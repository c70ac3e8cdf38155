"""Engines: the primitives over raw values of NumPy and Numba, and which engine a value belongs to."""

from tapegrad.engines.interface import Axis as Axis
from tapegrad.engines.interface import Backend as Backend
from tapegrad.engines.interface import ConvWindow as ConvWindow
from tapegrad.engines.interface import Decomposition as Decomposition
from tapegrad.engines.interface import Elementwise as Elementwise
from tapegrad.engines.interface import Int as Int
from tapegrad.engines.interface import Pairwise as Pairwise
from tapegrad.engines.interface import Value as Value
from tapegrad.engines.registry import engine as engine
from tapegrad.engines.registry import register as register
