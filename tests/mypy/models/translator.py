from __future__ import annotations

import numpy as np

import tapegrad as tg
from tapegrad import Tensor, nn


class Encoder(nn.Module):
    def __init__(self, vocab: int, embed: int, hidden: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocab, embed)
        self.gru = nn.GRU(embed, hidden)

    def forward(self, tokens: Tensor) -> tuple[Tensor, Tensor]:
        outputs, last = self.gru(self.embedding(tokens))
        return outputs, last


class Attention(nn.Module):
    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.wq = nn.Linear(hidden, hidden, bias=False)
        self.wk = nn.Linear(hidden, hidden, bias=False)
        self.v = nn.Linear(hidden, 1, bias=False)

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        scores = self.v(tg.tanh(self.wq(query)[:, None, :] + self.wk(keys)))[..., 0]
        weights = tg.softmax(scores, axis=-1)
        return (weights[:, None, :] @ keys)[:, 0]


class Decoder(nn.Module):
    def __init__(self, vocab: int, embed: int, hidden: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocab, embed)
        self.attention = Attention(hidden)
        self.cell = nn.GRU(embed + hidden, hidden)
        self.out = nn.Linear(2 * hidden, vocab)

    def forward(self, token: Tensor, state: Tensor, keys: Tensor) -> tuple[Tensor, Tensor]:
        context = self.attention(state, keys)
        x = tg.concat([self.embedding(token), context], axis=-1)
        _, state = self.cell(x[:, None], state)
        logits = self.out(tg.concat([state, context], axis=-1))
        return logits, state


class Seq2Seq(nn.Module):
    def __init__(self, source: int, target: int, embed: int = 8, hidden: int = 12) -> None:
        super().__init__()
        self.encoder = Encoder(source, embed, hidden)
        self.decoder = Decoder(target, embed, hidden)
        self.target = target

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        keys, last = self.encoder(source)
        state = last[0] if last.ndim == 3 else last
        _batch, steps = target.shape
        outputs = []
        for t in range(steps):
            logits, state = self.decoder(target[:, t], state, keys)
            outputs.append(logits)
        return tg.stack(outputs, axis=1)


model = Seq2Seq(11, 13)
source = tg.zeros((4, 7), dtype=np.int64)
target = tg.zeros((4, 5), dtype=np.int64)
logits = model(source, target)
loss = tg.cross_entropy(logits.reshape((-1, 13)), target.reshape((-1,)))
result = loss
