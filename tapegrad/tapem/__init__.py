"""The pure tape: programs that are values, threading a tape that is one too.

A program says what is to be computed; run on a tape it gives a value and a longer tape, or an error, and changes
nothing. `matmul`, `log` and their kin are the library's own ops, on nodes of that tape in the place of tensors.
"""

from tapegrad.tapem.backward import NodeGradients as NodeGradients
from tapegrad.tapem.backward import backward as backward
from tapegrad.tapem.backward import gradient as gradient
from tapegrad.tapem.backward import item as item
from tapegrad.tapem.backward import value as value
from tapegrad.tapem.lift import leaf as leaf
from tapegrad.tapem.lift import lift as lift
from tapegrad.tapem.program import Do as Do
from tapegrad.tapem.program import TapeM as TapeM
from tapegrad.tapem.program import do as do
from tapegrad.tapem.program import fail as fail
from tapegrad.tapem.program import get_tape as get_tape
from tapegrad.tapem.program import pure as pure
from tapegrad.tapem.program import set_tape as set_tape
from tapegrad.tapem.result import Err as Err
from tapegrad.tapem.result import Ok as Ok
from tapegrad.tapem.result import Result as Result
from tapegrad.tapem.tape import Node as Node
from tapegrad.tapem.tape import Tape as Tape
from tapegrad.tapem.train import Trained as Trained
from tapegrad.tapem.train import sgd as sgd
from tapegrad.tapem.wrappers import abs as abs
from tapegrad.tapem.wrappers import add as add
from tapegrad.tapem.wrappers import clamp as clamp
from tapegrad.tapem.wrappers import concat as concat
from tapegrad.tapem.wrappers import concat_vectors as concat_vectors
from tapegrad.tapem.wrappers import cross_entropy as cross_entropy
from tapegrad.tapem.wrappers import div as div
from tapegrad.tapem.wrappers import exp as exp
from tapegrad.tapem.wrappers import gelu as gelu
from tapegrad.tapem.wrappers import inv as inv
from tapegrad.tapem.wrappers import linear as linear
from tapegrad.tapem.wrappers import log as log
from tapegrad.tapem.wrappers import log_softmax as log_softmax
from tapegrad.tapem.wrappers import matmul as matmul
from tapegrad.tapem.wrappers import max as max
from tapegrad.tapem.wrappers import maximum as maximum
from tapegrad.tapem.wrappers import mean as mean
from tapegrad.tapem.wrappers import min as min
from tapegrad.tapem.wrappers import minimum as minimum
from tapegrad.tapem.wrappers import mse_loss as mse_loss
from tapegrad.tapem.wrappers import mul as mul
from tapegrad.tapem.wrappers import neg as neg
from tapegrad.tapem.wrappers import relu as relu
from tapegrad.tapem.wrappers import reshape as reshape
from tapegrad.tapem.wrappers import safe_log as safe_log
from tapegrad.tapem.wrappers import scale as scale
from tapegrad.tapem.wrappers import sigmoid as sigmoid
from tapegrad.tapem.wrappers import silu as silu
from tapegrad.tapem.wrappers import softmax as softmax
from tapegrad.tapem.wrappers import softplus as softplus
from tapegrad.tapem.wrappers import sqrt as sqrt
from tapegrad.tapem.wrappers import ssm_scan as ssm_scan
from tapegrad.tapem.wrappers import sub as sub
from tapegrad.tapem.wrappers import sum as sum
from tapegrad.tapem.wrappers import tanh as tanh
from tapegrad.tapem.wrappers import transpose as transpose
