"""The workloads in HIPS autograd, which has no convolution fit for batches of channels."""

from collections.abc import Callable
from copy import deepcopy
from importlib import import_module
from typing import Any

from benchmarks.rivals import data, functions
from benchmarks.rivals.functions import Made

autograd: Any = import_module("autograd")  # Any: the tree's environment need not have it
np: Any = import_module("autograd.numpy")


def step(loss_of: Any, params: Any, *inputs: Any) -> Made:
    """Return how to build a training step of SGD."""

    def make() -> Callable[[], float]:
        own = deepcopy(params)
        grad = autograd.value_and_grad(lambda p: loss_of(np, p, *inputs))

        def run() -> float:
            loss, grads = grad(own)
            _update(own, grads)
            return float(loss)

        return run

    return make


def gradient(function: Any, leaves: Any, *inputs: Any) -> Made:
    """Return how to build a gradient with respect to the leaves."""

    def make() -> Callable[[], float]:
        grad = autograd.grad(lambda p: function(np, p, *inputs))

        def run() -> float:
            found = grad(leaves)
            return float((found[0] if isinstance(found, tuple) else found).reshape(-1)[0])

        return run

    return make


def _update(params: Any, grads: Any) -> None:
    """Update the parameters in place, one by one."""
    if isinstance(params, dict):
        for name, one in params.items():
            _update(one, grads[name])
    elif isinstance(params, list | tuple):
        for one, gradient in zip(params, grads, strict=True):
            _update(one, gradient)
    else:
        params -= data.LR * grads


PROGRAMS = functions.programs(step, gradient)
