from __future__ import annotations

import tapegrad as tg
from tapegrad import Tensor, nn


def pair(t: int | tuple[int, int]) -> tuple[int, int]:
    return t if isinstance(t, tuple) else (t, t)


class FeedForward(nn.Module):
    def __init__(self, dim: int, hidden_dim: int) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, hidden_dim), nn.GELU(), nn.Linear(hidden_dim, dim))

    def forward(self, x: Tensor) -> Tensor:
        return self.net(x)


class Attention(nn.Module):
    def __init__(self, dim: int, heads: int = 8, dim_head: int = 64) -> None:
        super().__init__()
        inner_dim = dim_head * heads
        self.heads = heads
        self.scale = dim_head**-0.5
        self.norm = nn.LayerNorm(dim)
        self.to_qkv = nn.Linear(dim, inner_dim * 3, bias=False)
        self.to_out = nn.Linear(inner_dim, dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        x = self.norm(x)
        b, n, _ = x.shape
        qkv = tg.split(self.to_qkv(x), 3, axis=-1)
        q, k, v = [t.reshape((b, n, self.heads, -1)).transpose((0, 2, 1, 3)) for t in qkv]
        dots = tg.matmul(q, k.transpose((0, 1, 3, 2))) * self.scale
        attn = tg.softmax(dots, axis=-1)
        out = tg.matmul(attn, v)
        out = out.transpose((0, 2, 1, 3)).reshape((b, n, -1))
        return self.to_out(out)


class Transformer(nn.Module):
    def __init__(self, dim: int, depth: int, heads: int, dim_head: int, mlp_dim: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.attentions: list[Attention] = []
        self.feeds: list[FeedForward] = []
        for _ in range(depth):
            self.attentions.append(Attention(dim, heads=heads, dim_head=dim_head))
            self.feeds.append(FeedForward(dim, mlp_dim))

    def forward(self, x: Tensor) -> Tensor:
        for attn, ff in zip(self.attentions, self.feeds):
            x = attn(x) + x
            x = ff(x) + x
        return self.norm(x)


class ViT(nn.Module):
    def __init__(
        self,
        *,
        image_size: int,
        patch_size: int,
        num_classes: int,
        dim: int,
        depth: int,
        heads: int,
        mlp_dim: int,
        channels: int = 3,
        dim_head: int = 8,
    ) -> None:
        super().__init__()
        image_height, image_width = pair(image_size)
        self.patch_height, self.patch_width = pair(patch_size)
        assert image_height % self.patch_height == 0 and image_width % self.patch_width == 0
        num_patches = (image_height // self.patch_height) * (image_width // self.patch_width)
        patch_dim = channels * self.patch_height * self.patch_width
        self.norm = nn.LayerNorm(patch_dim)
        self.proj = nn.Linear(patch_dim, dim)
        self.pos_embedding = nn.Param(tg.normal((1, num_patches + 1, dim), rng=0))
        self.cls_token = nn.Param(tg.normal((1, 1, dim), rng=1))
        self.transformer = Transformer(dim, depth, heads, dim_head, mlp_dim)
        self.head = nn.Linear(dim, num_classes)

    def patches(self, img: Tensor) -> Tensor:
        b, c, h, w = img.shape
        p1, p2 = self.patch_height, self.patch_width
        x = img.reshape((b, c, h // p1, p1, w // p2, p2))
        x = x.transpose((0, 2, 4, 3, 5, 1))
        return x.reshape((b, (h // p1) * (w // p2), p1 * p2 * c))

    def forward(self, img: Tensor) -> Tensor:
        x = self.proj(self.norm(self.patches(img)))
        b, n, _ = x.shape
        cls_tokens = tg.broadcast_to(self.cls_token, (b, 1, x.shape[-1]))
        x = tg.concat([cls_tokens, x], axis=1)
        x = x + self.pos_embedding[:, : n + 1]
        x = self.transformer(x)
        return self.head(x[:, 0])


v = ViT(image_size=16, patch_size=4, num_classes=10, dim=24, depth=2, heads=3, mlp_dim=32)
preds = v(tg.normal((2, 3, 16, 16), rng=2))
result = preds - tg.zeros((2, 10))
