from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import tapegrad as tg
from tapegrad import Tensor, nn


@dataclass
class MoEConfig:
    dim: int = 16
    hidden_mult: int = 4
    experts: int = 4
    top_k: int = 2
    heads: int = 4
    layers: int = 2
    vocab: int = 20
    context: int = 8


class RMSNorm(nn.Module):
    def __init__(self, dim: int, eps: float = 1e-6) -> None:
        super().__init__()
        self.eps = eps
        self.weight = nn.Param(tg.ones((dim,)))

    def forward(self, x: Tensor) -> Tensor:
        norm = x * tg.rsqrt((x * x).mean(axis=-1, keepdims=True) + self.eps)
        return norm * self.weight


class Expert(nn.Module):
    def __init__(self, cfg: MoEConfig) -> None:
        super().__init__()
        hidden = cfg.hidden_mult * cfg.dim
        hidden = int(2 * hidden / 3)
        self.w1 = nn.Linear(cfg.dim, hidden, bias=False)
        self.w2 = nn.Linear(hidden, cfg.dim, bias=False)
        self.w3 = nn.Linear(cfg.dim, hidden, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.w2(tg.silu(self.w1(x)) * self.w3(x))


class MoE(nn.Module):
    def __init__(self, cfg: MoEConfig) -> None:
        super().__init__()
        self.cfg = cfg
        self.gate = nn.Linear(cfg.dim, cfg.experts, bias=False)
        self.experts = [Expert(cfg) for _ in range(cfg.experts)]

    def forward(self, x: Tensor) -> Tensor:
        B, T, D = x.shape
        flat = x.reshape((B * T, D))
        weights = tg.softmax(self.gate(flat), axis=-1)
        outs = tg.stack([expert(flat) for expert in self.experts], axis=1)
        mixed = (outs * weights[:, :, None]).sum(axis=1)
        return mixed.reshape((B, T, D))


class Attention(nn.Module):
    def __init__(self, cfg: MoEConfig) -> None:
        super().__init__()
        assert cfg.dim % cfg.heads == 0
        self.heads = cfg.heads
        self.head_dim = cfg.dim // cfg.heads
        self.qkv = nn.Linear(cfg.dim, 3 * cfg.dim)
        self.proj = nn.Linear(cfg.dim, cfg.dim)
        self.mask = tg.tril(tg.ones((cfg.context, cfg.context)))

    def forward(self, x: Tensor) -> Tensor:
        B, T, C = x.shape
        q, k, v = tg.split(self.qkv(x), 3, axis=-1)
        q = q.reshape((B, T, self.heads, self.head_dim)).transpose((0, 2, 1, 3))
        k = k.reshape((B, T, self.heads, self.head_dim)).transpose((0, 2, 1, 3))
        v = v.reshape((B, T, self.heads, self.head_dim)).transpose((0, 2, 1, 3))
        att = (q @ k.transpose((0, 1, 3, 2))) * self.head_dim**-0.5
        att = tg.where(self.mask[:T, :T] == 0, -1e9, att)
        y = tg.softmax(att, axis=-1) @ v
        y = y.transpose((0, 2, 1, 3)).reshape((B, T, C))
        return self.proj(y)


class Block(nn.Module):
    def __init__(self, cfg: MoEConfig) -> None:
        super().__init__()
        self.n1, self.n2 = RMSNorm(cfg.dim), RMSNorm(cfg.dim)
        self.attn = Attention(cfg)
        self.moe = MoE(cfg)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attn(self.n1(x))
        return x + self.moe(self.n2(x))


class Model(nn.Module):
    def __init__(self, cfg: MoEConfig) -> None:
        super().__init__()
        self.tok = nn.Embedding(cfg.vocab, cfg.dim)
        self.pos = nn.Param(tg.zeros((1, cfg.context, cfg.dim)))
        self.blocks = nn.Sequential(*[Block(cfg) for _ in range(cfg.layers)])
        self.norm = RMSNorm(cfg.dim)
        self.head = nn.Linear(cfg.dim, cfg.vocab, bias=False)

    def forward(self, idx: Tensor) -> Tensor:
        _B, T = idx.shape
        x = self.tok(idx) + self.pos[:, :T]
        return self.head(self.norm(self.blocks(x)))


cfg = MoEConfig(dim=16)
model = Model(cfg)
idx = tg.zeros((2, 8), dtype=np.int64)
logits = model(idx)
result = tg.cross_entropy(logits.reshape((-1, cfg.vocab)), idx.reshape((-1,)))
