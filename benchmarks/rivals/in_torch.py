"""The workloads in PyTorch, eager and compiled."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

from benchmarks.rivals import data

torch: Any = import_module("torch")  # Any: a rival is in no environment that mypy sees
F: Any = torch.nn.functional


def parameters(arrays: dict[str, Any]) -> Any:
    """Return parameters by name."""
    return torch.nn.ParameterDict({name: torch.nn.Parameter(torch.tensor(array)) for name, array in arrays.items()})


def linear(x: Any, p: Any, name: str) -> Any:
    """Apply a layer whose weight is `(In, Out)`, as it is in all programs."""
    return torch.addmm(p[f"{name}_b"], x.reshape(-1, x.shape[-1]), p[f"{name}_w"]).reshape(*x.shape[:-1], -1)


def run_block(p: Any, x: Any) -> Any:
    """Add what the heads of a transformer block find, then what its two layers make of it."""
    b, n, d = x.shape
    h = linear(F.layer_norm(x, (d,), p["norm1_w"], p["norm1_b"]), p, "qkv")
    q, k, v = h.reshape(b, n, 3, data.HEADS, d // data.HEADS).permute(2, 0, 3, 1, 4)
    heads = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, n, d)
    x = x + linear(heads, p, "out")
    h = F.gelu(linear(F.layer_norm(x, (d,), p["norm2_w"], p["norm2_b"]), p, "up"), approximate="tanh")
    return x + linear(h, p, "down")


def step(loss_of: Callable[..., Any], params: list[Any], *inputs: Any) -> Callable[[], float]:
    """Return one step of training."""
    opt = torch.optim.SGD(params, lr=data.LR)

    def run() -> float:
        opt.zero_grad()
        loss = loss_of(*inputs)
        loss.backward()
        opt.step()
        return float(loss.item())

    return run


def gradient(f: Callable[..., Any], *inputs: Any) -> Callable[[], float]:
    """Return the first number of the first input's gradient."""
    leaves = [x.requires_grad_() for x in inputs]

    def run() -> float:
        (dx, *_) = torch.autograd.grad(f(*leaves), leaves)
        return float(dx.reshape(-1)[0])

    return run


def programs(compiled: Callable[..., Any]) -> dict[str, Callable[[], Callable[[], float]] | None]:
    """Return how to create each workload; `compiled` is applied to each function that computes a loss."""

    def chain() -> Callable[[], float]:
        w = torch.tensor(data.numbers(8, seed=1))

        def chained(x: Any) -> Any:
            for _ in range(data.CHAIN):
                x = torch.tanh(x * w)
            return x.sum()

        return gradient(compiled(chained), torch.tensor(data.numbers(8)))

    def mlp(sizes: tuple[int, ...]) -> Callable[[], Callable[[], float]]:
        def make() -> Callable[[], float]:
            parts: list[Any] = []
            for weight, bias in data.layers(sizes):
                layer = torch.nn.Linear(*weight.shape)
                layer.weight.data, layer.bias.data = torch.tensor(weight.T.copy()), torch.tensor(bias)
                parts += [layer, torch.nn.ReLU()]
            model = torch.nn.Sequential(*parts[:-1])
            x, y = map(torch.tensor, data.batch(sizes))
            criterion = F.mse_loss if sizes[-1] == 1 else F.cross_entropy
            return step(compiled(lambda x, y: criterion(model(x), y)), list(model.parameters()), x, y)

        return make

    def cnn() -> Callable[[], float]:
        p, (images, classes) = parameters(data.cnn()), data.images()

        def loss_of(x: Any, y: Any) -> Any:
            h = F.max_pool2d(F.relu(F.conv2d(x, p["first"])), 2)
            h = F.max_pool2d(F.relu(F.conv2d(h, p["second"])), 2)
            return F.cross_entropy(linear(h.flatten(1), p, "head"), y)

        return step(compiled(loss_of), list(p.parameters()), torch.tensor(images), torch.tensor(classes))

    def convolution() -> Callable[[], float]:
        x, w = torch.tensor(data.numbers(8, 64, 56, 56)), torch.tensor(data.numbers(64, 64, 3, 3, seed=1))
        seed, f = x.clone(), compiled(lambda w, x: F.conv2d(x, w, padding=1))
        leaves = [w.requires_grad_(), x.requires_grad_()]

        def run() -> float:
            dw, _ = torch.autograd.grad(f(*leaves), leaves, seed)
            return float(dw[0, 0, 0, 0])

        return run

    def blocks(count: int) -> Callable[[], float]:
        every = torch.nn.ModuleList([parameters(data.block(seed)) for seed in range(count)])

        def loss_of(x: Any) -> Any:
            for p in every:
                x = run_block(p, x)
            return (x * x).mean()

        return step(compiled(loss_of), list(every.parameters()), torch.tensor(data.tokens()))

    def elementwise() -> Callable[[], float]:
        f = compiled(lambda x: (torch.tanh(x) * torch.sigmoid(x) + x * x).sum())
        return gradient(f, torch.tensor(data.numbers(4_000_000)))

    def normalized() -> Callable[[], float]:
        x, target = map(torch.tensor, data.rows())
        f = compiled(lambda x, w, b: (torch.softmax(F.layer_norm(x, (1024,), w, b), -1) * target).sum())
        return gradient(f, x, torch.ones(1024), torch.zeros(1024))

    def product() -> Callable[[], float]:
        leaves = [torch.tensor(data.numbers(2048, 2048, seed=seed)).requires_grad_() for seed in range(2)]
        seed, f = leaves[0].detach(), compiled(torch.matmul)

        def run() -> float:
            dx, _ = torch.autograd.grad(f(*leaves), leaves, seed)
            return float(dx[0, 0])

        return run

    def pools() -> Callable[[], float]:
        x = torch.tensor(data.numbers(*data.POOLED)).requires_grad_()
        seeds = [torch.tensor(data.numbers(*data.POOLED[:2], 28, 28, seed=seed)) for seed in (1, 2)]
        largest, mean = compiled(lambda x: F.max_pool2d(x, 2)), compiled(lambda x: F.avg_pool2d(x, 3, 2, 1))

        def run() -> float:
            found = [torch.autograd.grad(f(x), x, seed)[0] for f, seed in zip((largest, mean), seeds, strict=True)]
            return float((found[0] + found[1])[0, 0, 0, 0])

        return run

    def cross_entropy() -> Callable[[], float]:
        x, y = map(torch.tensor, data.logits())
        return gradient(compiled(lambda x: F.cross_entropy(x, y)), x)

    def adam() -> Callable[[], float]:
        arrays = data.parameters_and_gradients(data.WIDE)
        params = [torch.nn.Parameter(torch.tensor(array)) for array, _ in arrays]
        for param, (_, gradient) in zip(params, arrays, strict=True):
            param.grad = torch.tensor(gradient)
        opt = torch.optim.Adam(params, fused=True)
        change = compiled(opt.step)

        def run() -> float:
            change()
            return float(params[0].detach()[0, 0])

        return run

    return {
        "elementwise-small": chain,
        "mlp-tiny": mlp(data.TINY),
        "mlp-small": mlp(data.SMALL),
        "mlp-wide": mlp(data.WIDE),
        "cnn": cnn,
        "convolution": convolution,
        "transformer": lambda: blocks(1),
        "elementwise-large": elementwise,
        "normalization": normalized,
        "matmul": product,
        "memory": lambda: blocks(data.BLOCKS),
        "pooling": pools,
        "cross-entropy": cross_entropy,
        "adam": adam,
    }


EAGER = programs(lambda f: f)
COMPILED = programs(torch.compile)
