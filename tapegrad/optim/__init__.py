"""Optimizers, learning rate schedules and loss scaling."""

from tapegrad.errors.missing_names import attribute_of as _attribute_of
from tapegrad.optim.adadelta import Adadelta as Adadelta
from tapegrad.optim.adadelta import SquaredUpdates as SquaredUpdates
from tapegrad.optim.adam import Adam as Adam
from tapegrad.optim.adam import AdamW as AdamW
from tapegrad.optim.adam import Moments as Moments
from tapegrad.optim.optimizer import Group as Group
from tapegrad.optim.optimizer import Optimizer as Optimizer
from tapegrad.optim.packing import elementwise as elementwise
from tapegrad.optim.rmsprop import CenteredSquares as CenteredSquares
from tapegrad.optim.rmsprop import RMSprop as RMSprop
from tapegrad.optim.rmsprop import RollingCenteredSquares as RollingCenteredSquares
from tapegrad.optim.rmsprop import RollingSquares as RollingSquares
from tapegrad.optim.rmsprop import Squares as Squares
from tapegrad.optim.scaling import LossScaler as LossScaler
from tapegrad.optim.schedule import Schedule as Schedule
from tapegrad.optim.schedule import constant as constant
from tapegrad.optim.schedule import cosine as cosine
from tapegrad.optim.schedule import exponential as exponential
from tapegrad.optim.schedule import one_cycle as one_cycle
from tapegrad.optim.schedule import step as step
from tapegrad.optim.schedule import warmup as warmup
from tapegrad.optim.sgd import SGD as SGD
from tapegrad.optim.sgd import Velocity as Velocity

globals()["__getattr__"] = _attribute_of(__name__)  # unseen by type checkers, which report a missing name themselves
