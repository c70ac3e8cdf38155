"""Long work: how far it is and how well it goes, when it is over, and how it goes on after a kill."""

from tapegrad.progress.curves import curves as curves
from tapegrad.progress.run import Epoch as Epoch
from tapegrad.progress.run import Run as Run
from tapegrad.progress.run import track as track
from tapegrad.progress.stopping import EarlyStopping as EarlyStopping
