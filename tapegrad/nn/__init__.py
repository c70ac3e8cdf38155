"""Modules and layers, one file per family."""

from typing import TYPE_CHECKING, NoReturn

from tapegrad.nn.activation import ELU as ELU
from tapegrad.nn.activation import GELU as GELU
from tapegrad.nn.activation import LeakyReLU as LeakyReLU
from tapegrad.nn.activation import LogSigmoid as LogSigmoid
from tapegrad.nn.activation import LogSoftmax as LogSoftmax
from tapegrad.nn.activation import Mish as Mish
from tapegrad.nn.activation import PReLU as PReLU
from tapegrad.nn.activation import ReLU as ReLU
from tapegrad.nn.activation import Sigmoid as Sigmoid
from tapegrad.nn.activation import SiLU as SiLU
from tapegrad.nn.activation import Softmax as Softmax
from tapegrad.nn.activation import Softplus as Softplus
from tapegrad.nn.activation import Tanh as Tanh
from tapegrad.nn.attention import MultiHeadAttention as MultiHeadAttention
from tapegrad.nn.average import ModelEMA as ModelEMA
from tapegrad.nn.batch_norm import BatchNorm1d as BatchNorm1d
from tapegrad.nn.batch_norm import BatchNorm2d as BatchNorm2d
from tapegrad.nn.branches import AddInto as AddInto
from tapegrad.nn.branches import SplitInto as SplitInto
from tapegrad.nn.conv import Conv1d as Conv1d
from tapegrad.nn.conv import Conv2d as Conv2d
from tapegrad.nn.conv import Conv3d as Conv3d
from tapegrad.nn.conv_transpose import ConvTranspose1d as ConvTranspose1d
from tapegrad.nn.conv_transpose import ConvTranspose2d as ConvTranspose2d
from tapegrad.nn.dropout import Dropout as Dropout
from tapegrad.nn.embedding import Embedding as Embedding
from tapegrad.nn.initialize import kaiming_normal as kaiming_normal
from tapegrad.nn.initialize import kaiming_uniform as kaiming_uniform
from tapegrad.nn.initialize import orthogonal as orthogonal
from tapegrad.nn.initialize import xavier_normal as xavier_normal
from tapegrad.nn.initialize import xavier_uniform as xavier_uniform
from tapegrad.nn.linear import Linear as Linear
from tapegrad.nn.module import HasForward as HasForward
from tapegrad.nn.module import Module as Module
from tapegrad.nn.move import Flatten as Flatten
from tapegrad.nn.move import Reshape as Reshape
from tapegrad.nn.move import Unflatten as Unflatten
from tapegrad.nn.norm import GroupNorm as GroupNorm
from tapegrad.nn.norm import InstanceNorm as InstanceNorm
from tapegrad.nn.norm import LayerNorm as LayerNorm
from tapegrad.nn.norm import RMSNorm as RMSNorm
from tapegrad.nn.param import Buffer as Buffer
from tapegrad.nn.param import Param as Param
from tapegrad.nn.paths import freeze as freeze
from tapegrad.nn.paths import unfreeze as unfreeze
from tapegrad.nn.pool import AdaptiveAvgPool1d as AdaptiveAvgPool1d
from tapegrad.nn.pool import AdaptiveAvgPool2d as AdaptiveAvgPool2d
from tapegrad.nn.pool import AvgPool1d as AvgPool1d
from tapegrad.nn.pool import AvgPool2d as AvgPool2d
from tapegrad.nn.pool import GlobalAvgPool1d as GlobalAvgPool1d
from tapegrad.nn.pool import GlobalAvgPool2d as GlobalAvgPool2d
from tapegrad.nn.pool import GlobalMaxPool1d as GlobalMaxPool1d
from tapegrad.nn.pool import GlobalMaxPool2d as GlobalMaxPool2d
from tapegrad.nn.pool import MaxPool1d as MaxPool1d
from tapegrad.nn.pool import MaxPool2d as MaxPool2d
from tapegrad.nn.pool import MinPool1d as MinPool1d
from tapegrad.nn.pool import MinPool2d as MinPool2d
from tapegrad.nn.pool import SmoothMaxPool1d as SmoothMaxPool1d
from tapegrad.nn.pool import SmoothMaxPool2d as SmoothMaxPool2d
from tapegrad.nn.quantized import quantized as quantized
from tapegrad.nn.recurrent import GRU as GRU
from tapegrad.nn.recurrent import LSTM as LSTM
from tapegrad.nn.recurrent import RNN as RNN
from tapegrad.nn.residual import GeneralizedAdd as GeneralizedAdd
from tapegrad.nn.residual import GeneralizedMul as GeneralizedMul
from tapegrad.nn.residual import Repeated as Repeated
from tapegrad.nn.residual import Residual as Residual
from tapegrad.nn.residual import ResidualMul as ResidualMul
from tapegrad.nn.sequential import Sequential as Sequential
from tapegrad.nn.ssm import SSM as SSM
from tapegrad.nn.stacked import StackedGRU as StackedGRU
from tapegrad.nn.stacked import StackedLSTM as StackedLSTM
from tapegrad.nn.stacked import StackedRNN as StackedRNN
from tapegrad.nn.transformer import FeedForward as FeedForward
from tapegrad.nn.transformer import Transformer as Transformer
from tapegrad.nn.transformer import TransformerDecoderBlock as TransformerDecoderBlock
from tapegrad.nn.transformer import TransformerEncoderBlock as TransformerEncoderBlock
from tapegrad.nn.upsample import Upsample as Upsample
from tapegrad.nn.valid import Valid as Valid

if not TYPE_CHECKING:  # type checkers report a missing name themselves

    def __getattr__(name: str) -> NoReturn:
        """Raise an AttributeError, which says what to use for a name of PyTorch."""
        from tapegrad.errors.other_names import attribute_error
        from tapegrad.errors.tracebacks import trim_on_exit

        with trim_on_exit:
            raise attribute_error(__name__, name)
