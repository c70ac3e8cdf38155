"""Training loops with a progress bar, logs, early stopping, and checkpoints to resume from."""

from tapegrad.progress.curves import curves as curves
from tapegrad.progress.loggers import LogFile as LogFile
from tapegrad.progress.loggers import Logger as Logger
from tapegrad.progress.loggers import TensorBoard as TensorBoard
from tapegrad.progress.run import Epoch as Epoch
from tapegrad.progress.run import Run as Run
from tapegrad.progress.run import track as track
from tapegrad.progress.stopping import EarlyStopping as EarlyStopping
