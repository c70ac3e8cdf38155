"""Modules and layers, one file per family."""

from tapegrad.nn.activation import ELU as ELU
from tapegrad.nn.activation import GELU as GELU
from tapegrad.nn.activation import LeakyReLU as LeakyReLU
from tapegrad.nn.activation import LogSigmoid as LogSigmoid
from tapegrad.nn.activation import ReLU as ReLU
from tapegrad.nn.activation import Sigmoid as Sigmoid
from tapegrad.nn.activation import SiLU as SiLU
from tapegrad.nn.activation import Softplus as Softplus
from tapegrad.nn.activation import Tanh as Tanh
from tapegrad.nn.branches import AddInto as AddInto
from tapegrad.nn.branches import SplitInto as SplitInto
from tapegrad.nn.dropout import Dropout as Dropout
from tapegrad.nn.embedding import Embedding as Embedding
from tapegrad.nn.linear import Linear as Linear
from tapegrad.nn.module import HasForward as HasForward
from tapegrad.nn.module import Module as Module
from tapegrad.nn.move import Flatten as Flatten
from tapegrad.nn.norm import LayerNorm as LayerNorm
from tapegrad.nn.norm import RMSNorm as RMSNorm
from tapegrad.nn.param import Param as Param
from tapegrad.nn.paths import freeze as freeze
from tapegrad.nn.paths import unfreeze as unfreeze
from tapegrad.nn.residual import Repeated as Repeated
from tapegrad.nn.residual import Residual as Residual
from tapegrad.nn.residual import ResidualMul as ResidualMul
from tapegrad.nn.sequential import Sequential as Sequential
