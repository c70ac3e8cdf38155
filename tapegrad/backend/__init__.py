"""Engines: the primitives over raw values, and which engine a value belongs to."""

from tapegrad.backend.engines import engine as engine
from tapegrad.backend.engines import register as register
from tapegrad.backend.value import Axis as Axis
from tapegrad.backend.value import Backend as Backend
from tapegrad.backend.value import ConvWindow as ConvWindow
from tapegrad.backend.value import Elementwise as Elementwise
from tapegrad.backend.value import Int as Int
from tapegrad.backend.value import Pairwise as Pairwise
from tapegrad.backend.value import Value as Value
