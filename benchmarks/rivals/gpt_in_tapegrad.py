"""The GPT of `benchmarks.gpt` in tapegrad, its training step compiled by `tapegrad.jit`."""

from collections.abc import Callable
from itertools import cycle
from typing import Any, Generic, TypeVar

import numpy as np
from typing_extensions import override

import tapegrad as tg
from benchmarks.rivals import gpt_data
from benchmarks.rivals.gpt_data import Size
from tapegrad import NoneTape, Shape, Tape, Tensor, nn, optim

B = TypeVar("B", bound=int)
N = TypeVar("N", bound=int)
Vocabulary = TypeVar("Vocabulary", bound=int)
Width = TypeVar("Width", bound=int)
T = TypeVar("T", bound=Tape)


class GPT(nn.Module, Generic[Vocabulary, Width]):
    """Give each token of a text a score for each token that may come next."""

    def __init__(self, vocabulary: Vocabulary, width: Width, heads: int, context: int, layers: int) -> None:
        self.tokens = nn.Embedding(vocabulary, width, rng=0)
        self.positions = nn.Embedding(context, width, rng=0)
        self.blocks = nn.Repeated(
            lambda: nn.TransformerEncoderBlock(width, heads, 4 * width, causal=True, rng=0), layers
        )
        self.norm = nn.LayerNorm(width)
        self.scores = nn.Linear(width, vocabulary, rng=0)

    @override
    def forward(self, x: Tensor[Shape[B, N], T, np.int64]) -> Tensor[Shape[B, N, Vocabulary], T]:
        h = self.tokens(x) + self.positions(tg.arange(x.shape[1]))
        return self.scores(self.norm(self.blocks(h)))


@tg.jit
def step(
    model: GPT[Vocabulary, Width],
    opt: optim.Adam,
    x: Tensor[Shape[B, N], NoneTape, np.int64],
    y: Tensor[Shape[B, N], NoneTape, np.int64],
) -> Tensor[Shape[()], NoneTape]:
    """Train on a batch."""
    loss = tg.cross_entropy(model(x.trace()), y)
    opt.step(loss.backward(wrt=model))
    return loss.detach()


def program(size: Size, *, is_rounded: bool) -> Callable[[], float]:
    """Return a training step."""
    model = GPT(size.vocabulary, size.width, size.heads, size.context, size.layers)
    given: dict[str, Any] = gpt_data.parameters(size, is_rounded=is_rounded)
    for path, parameter in model.parameters().items():
        parameter.assign(tg.tensor(given.pop(path)))
    assert not given, f"parameters without a place: {', '.join(given)}"
    opt = optim.Adam(model, lr=gpt_data.LR)
    texts = gpt_data.texts(size)
    batches = cycle([(tg.tensor(one[:, :-1].copy()), tg.tensor(one[:, 1:].copy())) for one in texts])
    return lambda: step(model, opt, *next(batches)).item()
