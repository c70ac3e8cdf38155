"""Optimizers: how gradients change parameters."""

from tapegrad.optim.adam import Adam as Adam
from tapegrad.optim.adam import Moments as Moments
from tapegrad.optim.optimizer import Optimizer as Optimizer
from tapegrad.optim.sgd import SGD as SGD
