"""Modules and layers, one file per family."""

from tapegrad.nn.activation import ReLU as ReLU
from tapegrad.nn.activation import Tanh as Tanh
from tapegrad.nn.embedding import Embedding as Embedding
from tapegrad.nn.linear import Linear as Linear
from tapegrad.nn.module import HasForward as HasForward
from tapegrad.nn.module import Module as Module
from tapegrad.nn.param import Param as Param
from tapegrad.nn.sequential import Sequential as Sequential
